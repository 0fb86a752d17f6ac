/* When the supervisor is asked, when it is lost, and that a run that does nothing is never looked at. */
#include "role/cli/pulse.h"
#include "tap.h"

TEST(idle) {
        struct pulse p = {};

        check(pulse_due(&p, 5, true) == -1 && pulse_turn(&p, 5, true) == PULSE_NOTHING && !pulse_fresh(&p, 5)); /* it has not begun */
        pulse_begin(&p, 1000, 0);
        check(pulse_due(&p, 1000, false) == -1 && pulse_due(&p, 100000000, false) == -1);
        check(pulse_turn(&p, 100000000, false) == PULSE_NOTHING);
        pulse_end(&p);
        check(pulse_turn(&p, 100000000, true) == PULSE_NOTHING);
}

TEST(lost) {
        struct pulse p = {};
        uint64_t now = 1000;

        pulse_begin(&p, now, 0);
        check(pulse_fresh(&p, now) && pulse_turn(&p, now + PULSE_ASK_MS - 1, true) == PULSE_NOTHING);
        now += PULSE_ASK_MS;
        check(!pulse_fresh(&p, now) && pulse_turn(&p, now, true) == PULSE_ASK);
        check(pulse_due(&p, now, false) == (int)PULSE_ANSWER_MS && !pulse_fresh(&p, now));
        check(pulse_turn(&p, now + PULSE_ANSWER_MS - 1, true) == PULSE_NOTHING);
        now += PULSE_ANSWER_MS;
        check(pulse_turn(&p, now, false) == PULSE_ASK); /* once more: all may have been suspended */
        check(pulse_turn(&p, now + PULSE_ANSWER_MS - 1, false) == PULSE_NOTHING);
        check(pulse_turn(&p, now + PULSE_ANSWER_MS, false) == PULSE_LOST);
}

TEST(answers) {
        struct pulse p = {};

        pulse_begin(&p, 1000, 0);
        check(pulse_turn(&p, 3000, true) == PULSE_ASK);
        check(pulse_turn(&p, 3000 + PULSE_ANSWER_MS, true) == PULSE_ASK);
        pulse_heard(&p, 9000);
        check(pulse_fresh(&p, 9000) && pulse_due(&p, 9000, false) == -1);
        check(pulse_turn(&p, 10000, true) == PULSE_ASK); /* its tries begin anew */
        check(pulse_turn(&p, 10000 + PULSE_ANSWER_MS, true) == PULSE_ASK);
}

TEST(times) {
        struct pulse p = {};

        pulse_begin(&p, 1000, 60000);
        const uint64_t at = 1000 + 60000 + PULSE_ASK_MS;
        check(pulse_due(&p, 1000, false) == (int)(at - 1000) && pulse_turn(&p, at - 1, false) == PULSE_NOTHING);
        check(pulse_due(&p, at, false) == 0 && pulse_turn(&p, at, false) == PULSE_ASK);
        pulse_heard(&p, at); /* it was paused: once more, later */
        check(pulse_due(&p, at, false) == (int)(60000 + PULSE_ASK_MS));
        pulse_begin(&p, 1000, UINT64_MAX / 4);
        check(pulse_due(&p, 1000, false) == 3600 * 1000);
        pulse_begin(&p, 1000, 0);
        check(pulse_due(&p, 1200, true) == (int)PULSE_ASK_MS - 200 && pulse_turn(&p, 1000 + PULSE_ASK_MS, true) == PULSE_ASK);
}

TAP_MAIN
