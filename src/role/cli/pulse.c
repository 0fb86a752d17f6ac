/* See pulse.h. */
#include "role/cli/pulse.h"

void pulse_begin(struct pulse *p, uint64_t now, uint64_t time) {
        *p = (struct pulse){.watched = true, .heard = now, .time = time, .look_at = time ? now + time + PULSE_ASK_MS : 0};
}

void pulse_heard(struct pulse *p, uint64_t now) {
        p->heard = now;
        p->asked = 0;
        p->tries = 0;
}

void pulse_end(struct pulse *p) { *p = (struct pulse){}; }

bool pulse_fresh(const struct pulse *p, uint64_t now) { return p->watched && p->asked == 0 && now < p->heard + PULSE_ASK_MS; }

enum pulse_do pulse_turn(struct pulse *p, uint64_t now, bool busy) {
        if (!p->watched)
                return PULSE_NOTHING;
        if (p->asked && now < p->asked + PULSE_ANSWER_MS)
                return PULSE_NOTHING;
        if (p->asked && ++p->tries >= PULSE_TRIES)
                return PULSE_LOST;
        if (!p->asked) {
                const bool due = p->look_at && now >= p->look_at;
                if (due)
                        p->look_at = now + p->time + PULSE_ASK_MS; /* it was paused: its time has been counted without the pause */
                if (!due && (!busy || now < p->heard + PULSE_ASK_MS))
                        return PULSE_NOTHING;
        }
        p->asked = now;
        return PULSE_ASK;
}

int pulse_due(const struct pulse *p, uint64_t now, bool busy) {
        uint64_t at = !p->watched ? 0 : p->asked ? p->asked + PULSE_ANSWER_MS : p->look_at;

        if (busy && p->watched && !p->asked && (at == 0 || at > p->heard + PULSE_ASK_MS))
                at = p->heard + PULSE_ASK_MS;
        if (at == 0)
                return -1;
        return at <= now ? 0 : at - now > 3600u * 1000u ? 3600 * 1000 : (int)(at - now);
}
