/* How it works: a form is a sequence of symbols (bytes of the text, digits of its hex, characters of its base64), each of which
 * stands in the stream as one unit (a byte or an escape, redact-unit.h). From where a table of two bytes says that a form may
 * begin, every form is followed unit by unit until it ends or does not fit. No form leaves a choice at any unit, so there is nothing
 * to come back to; where escapes are ambiguous (a text with a % in it), each way to read them is a form of its own. */
#include <string.h>

#include "proto/redact.h"
#include "proto/redact-unit.h"

enum {
        LINE_MIN = 4,         /* characters of base64 between line breaks, and before the first */
        LATE_STARTS = 3,      /* of those, how many may be missing because they stand before the first */
        LEADS = 3,            /* % \ & */
        FORMS_MAX = 18 + 1 + 3 * (1 + LATE_STARTS), /* of one pair */
        NEAR = 3,             /* bytes before a place that say whether a line ends there */
        AHEAD = LINE_MIN,     /* bytes from a place on that are looked at before any form is followed: none of them is a line break */
        SETS = 64,            /* that forms are in: form i is in set i % SETS */
};

enum kind { PLAIN, HEX, BASE64 };

struct pair {
        const uint8_t *find, *put;
        size_t n;
};

struct form {
        uint16_t pair;
        uint8_t kind;
        uint8_t offset;       /* BASE64: bytes before the text since the last whole group */
        uint8_t level[LEADS]; /* PLAIN: how often these bytes of the text may be escaped */
        uint32_t from, end;   /* its symbols */
};

/* How far a form was followed from where it begins. */
struct run {
        uint32_t at;          /* bytes */
        uint32_t symbol;
        uint16_t form;
        uint8_t line;         /* symbols since the last line break, up to LINE_MIN */
        uint8_t broken;       /* since the last symbol: CR, or LF where no more may follow */
};

struct redactor {
        uint64_t begins[256][4]; /* of two bytes: the first, the bit of the second: something may begin here */
        uint64_t looks[256][4];  /* likewise: or in one of the next NEAR places, because a line ends here */
        uint64_t strides[1024];  /* likewise, by pair_index: or something may begin one byte before these two, or a line end with the second */
        uint64_t fitting[AHEAD][256]; /* the sets whose forms may have this byte as their first, second, ... symbol */
        uint8_t first[256];      /* BEGINS_* */
        uint8_t sextet[256];     /* of a character of base64; 64: it is none */
        size_t n_pairs, n_forms;
        size_t n_whole;          /* forms that may begin anywhere; the others only after a line break */
        size_t longest;          /* bytes of a form */
        struct form *forms;
        struct pair pairs[];
};
enum { BEGINS_WHOLE = 1, BEGINS_LATE = 2 };

/* The readings of one place: every form asks for the same. */
struct place {
        const uint8_t *p;        /* NULL: of none */
        size_t n;
        struct unit units[UNIT_READINGS_MAX];
};

struct redact_stream {
        size_t held;
        struct place place;
        size_t n_runs;           /* that are under way from the first byte held */
        bool anew;               /* what is held was another stream's, and is read once more */
        size_t best;             /* bytes of the longest form that is complete there; 0: none */
        size_t best_form;
        uint8_t near[NEAR];      /* the bytes before */
        struct run *runs;
        uint8_t *bytes;
        uint64_t found[];
};

enum { NO, MORE, YES };          /* a form, from some place on; MORE: what there is of the stream does not say */
enum { REFUSED, SYMBOL, BREAK }; /* a unit's value, for a form */

/* --- Symbols. */

/* Six bits of the text from a bit on, which may lie up to six before its beginning; mask: those that are the text's. */
static unsigned six_bits(const uint8_t *text, size_t n, long bit, unsigned *mask) {
        long byte = (bit + 8) / 8 - 1;
        unsigned value = 0, valid = 0, shift = (unsigned)(10 - (bit - 8 * byte));

        for (long i = byte; i < byte + 2; i++) {
                bool inside = i >= 0 && (size_t)i < n;
                value = value << 8 | (inside ? text[i] : 0u);
                valid = valid << 8 | (inside ? 255u : 0u);
        }
        *mask = valid >> shift & 63;
        return value >> shift & 63;
}

static unsigned symbol_bits(const struct form *f, const uint8_t *text, size_t n, size_t symbol, unsigned *mask) {
        return six_bits(text, n, 6 * (long)symbol - 8 * (long)f->offset, mask);
}

static unsigned nibble(const uint8_t *text, size_t symbol) {
        return symbol % 2 ? text[symbol / 2] & 15u : text[symbol / 2] >> 4;
}

static bool break_fits(const struct run *run, uint8_t value) {
        if (value != '\r' && value != '\n')
                return false;
        return run->broken ? run->broken == '\r' && value == '\n' : run->line >= LINE_MIN;
}

static int fits(const struct redactor *r, const struct form *f, const struct run *run, uint8_t value) {
        const struct pair *p = &r->pairs[f->pair];
        unsigned mask, bits;

        switch (f->kind) {
        case PLAIN:
                return p->find[run->symbol] == value ? SYMBOL : REFUSED;
        case HEX:
                return unit_hex(value) == (int)nibble(p->find, run->symbol) ? SYMBOL : REFUSED;
        default:
                if (r->sextet[value] > 63)
                        return break_fits(run, value) ? BREAK : REFUSED;
                bits = symbol_bits(f, p->find, p->n, run->symbol, &mask);
                return (r->sextet[value] & mask) == bits ? SYMBOL : REFUSED;
        }
}

static bool may_fit(const struct redactor *r, const struct form *f, const struct run *run, const struct unit *u) {
        if (u->low == 0 && u->high == 255)
                return true;
        for (unsigned v = u->low; v <= u->high; v++)
                if (fits(r, f, run, (uint8_t)v) != REFUSED)
                        return true;
        return false;
}

/* --- Following a form. */

/* How often a unit may be escaped: anything but a byte that escapes begin with has one meaning only. */
static unsigned level_max(const struct redactor *r, const struct form *f, const struct run *run, uint8_t lead) {
        if (f->kind != PLAIN || r->pairs[f->pair].find[run->symbol] != lead)
                return UNIT_LEVEL_ANY;
        return f->level[lead == '%' ? 0 : lead == '\\' ? 1 : 2];
}

static void read_place(struct place *place, const uint8_t *p, size_t n) {
        if (place->p == p)
                return;
        place->n = unit_read(p, n, place->units);
        place->p = p;
}

/* The next unit, of n > 0 bytes. A symbol or break and *ret, or -NO, -MORE. */
static int next_unit(const struct redactor *r, const struct form *f, const struct run *run, struct place *place, const uint8_t *p, size_t n,
                     bool last, struct unit *ret) {
        if (!unit_is_lead(*p)) {
                int what = fits(r, f, run, *p);
                if (what == REFUSED && *p == '+' && f->kind == PLAIN)
                        what = fits(r, f, run, ' ');
                if (what == REFUSED)
                        return -NO;
                *ret = (struct unit){.length = 1, .low = *p, .high = *p};
                return what;
        }
        read_place(place, p, n);
        unsigned max = level_max(r, f, run, *p);
        for (const struct unit *u = place->units; u < place->units + place->n; u++) {
                if (u->level > max)
                        continue;
                if (u->length == 0) {
                        if (!last && may_fit(r, f, run, u))
                                return -MORE;
                        continue;
                }
                int what = fits(r, f, run, u->low);
                if (what != REFUSED) {
                        *ret = *u;
                        return what;
                }
        }
        return -NO;
}

static void step(struct run *run, int what, const struct unit *u) {
        run->at += u->length;
        if (what == BREAK) {
                run->line = 0;
                run->broken = run->broken || u->low == '\n' ? '\n' : '\r';
                return;
        }
        run->symbol++;
        run->broken = 0;
        if (run->line < LINE_MIN)
                run->line++;
}

static int follow(const struct redactor *r, struct run *run, struct place *place, const uint8_t *p, size_t n, bool last) {
        const struct form *f = &r->forms[run->form];
        struct unit u;

        while (run->symbol < f->end && run->at <= r->longest) {
                if (run->at == n)
                        return last ? NO : MORE;
                int what = next_unit(r, f, run, place, p + run->at, n - run->at, last, &u);
                if (what <= 0)
                        return -what;
                step(run, what, &u);
        }
        return run->at <= r->longest ? YES : NO;
}

size_t redact_held_max(const struct redactor *r) { return r->longest + UNIT_LENGTH_MAX; }

/* The runs that are under way. YES: s->best and its form are what is to be replaced. */
static int follow_all(const struct redactor *r, struct redact_stream *s, const uint8_t *p, size_t n, bool last) {
        size_t kept = 0;

        for (size_t i = 0; i < s->n_runs; i++) {
                struct run run = s->runs[i];
                int is = follow(r, &run, &s->place, p, n, last);
                if (is == MORE)
                        s->runs[kept++] = run;
                if (is == YES && run.at > s->best) {
                        s->best = run.at;
                        s->best_form = run.form;
                }
        }
        s->n_runs = kept;
        /* What has come this far is too long, whatever its last unit turns out to be; there is no room to hold it either. */
        if (kept > 0 && n <= redact_held_max(r))
                return MORE;
        s->n_runs = 0;
        return s->best > 0 ? YES : NO;
}

/* The sets that have a form which may begin with these bytes: at most places of a text there is none. */
static uint64_t sets_at(const struct redactor *r, struct place *place, const uint8_t *p, size_t n) {
        uint64_t sets = 0;

        if (unit_is_lead(*p)) {
                read_place(place, p, n);
                for (size_t k = 0; k < place->n; k++)
                        for (unsigned v = place->units[k].low; v <= place->units[k].high; v++)
                                sets |= r->fitting[0][v];
                return sets;
        }
        sets = UINT64_MAX;
        for (size_t i = 0; sets != 0 && i < MIN(n, (size_t)AHEAD) && !unit_is_lead(p[i]); i++)
                sets &= r->fitting[i][p[i]];
        return sets;
}

static void start_runs(const struct redactor *r, struct redact_stream *s, size_t from, size_t end, uint64_t sets) {
        for (size_t i = from; i < end; i++)
                if (sets >> i % SETS & 1)
                        s->runs[s->n_runs++] = (struct run){.form = (uint16_t)i, .symbol = r->forms[i].from};
}

/* --- Putting the other text in. */

static char base64_character(unsigned sextet, bool url) {
        static const char characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

        if (sextet < 62)
                return characters[sextet];
        return sextet == 62 ? (url ? '-' : '+') : (url ? '_' : '/');
}

/* What an occurrence says of how it was written: the case of its digits, which alphabet. */
struct style {
        bool upper, url;
        bool known;
};

static void style_note(struct style *style, const struct form *f, uint8_t value) {
        if (f->kind == HEX && !style->known && value > '9') {
                style->upper = value < 'a';
                style->known = true;
        }
        if (f->kind == BASE64 && (value == '-' || value == '_'))
                style->url = true;
}

/* The value that stands for this one at the symbol. */
static uint8_t put_value(const struct redactor *r, const struct form *f, size_t symbol, uint8_t value, const struct style *style) {
        const struct pair *p = &r->pairs[f->pair];
        unsigned mask, bits;

        switch (f->kind) {
        case PLAIN:
                /* A + may stand for a space, which is none of those that change. */
                return p->put[symbol] == p->find[symbol] ? value : p->put[symbol];
        case HEX:
                bits = nibble(p->put, symbol);
                if ((int)bits == unit_hex(value))
                        return value;
                return (uint8_t)(bits < 10 ? '0' + bits : (value > '9' ? value < 'a' : style->upper) ? 'A' + bits - 10 : 'a' + bits - 10);
        default:
                bits = symbol_bits(f, p->put, p->n, symbol, &mask);
                bits |= r->sextet[value] & ~mask;
                return bits == r->sextet[value] ? value : (uint8_t)base64_character(bits, style->url);
        }
}

/* Replaces the form that n bytes are. Returns how many of them are done with: the last character of base64 may be the first
 * of what follows. */
static size_t replace(const struct redactor *r, size_t form, uint8_t *p, size_t n) {
        const struct form *f = &r->forms[form];
        struct style style = {};
        size_t last = 0;
        unsigned mask = 63;

        for (int writing = 0; writing < 2; writing++) {
                struct run run = {.form = (uint16_t)form, .symbol = f->from};
                struct place place = {};
                while (run.symbol < f->end && run.at < n) {
                        struct unit u;
                        int what = next_unit(r, f, &run, &place, p + run.at, n - run.at, true, &u);
                        if (what <= 0) /* it was followed to its end before */
                                break;
                        last = run.at;
                        if (what == SYMBOL && writing)
                                unit_write(p + run.at, &u, put_value(r, f, run.symbol, u.low, &style));
                        else if (what == SYMBOL)
                                style_note(&style, f, u.low);
                        step(&run, what, &u);
                }
        }
        if (f->kind == BASE64)
                (void)symbol_bits(f, r->pairs[f->pair].find, r->pairs[f->pair].n, f->end - 1, &mask);
        return mask == 63 ? n : last;
}

/* --- The stream. */

static size_t pair_index(const uint8_t *p) {
        uint16_t pair;

        memcpy(&pair, p, sizeof(pair));
        return pair;
}

static bool pair_is(const uint64_t table[256][4], const uint8_t *p) {
        return table[p[0]][p[1] >> 6] >> (p[1] & 63) & 1;
}

/* The next place from i on at or after which something may begin, or n. Every second place tells of the one before, too. */
static size_t skip(const struct redactor *r, const uint8_t *p, size_t i, size_t n) {
#define STRIDES(at) (r->strides[pair_index(p + (at)) >> 6] >> (pair_index(p + (at)) & 63))
        if (i + 1 < n && pair_is(r->looks, p + i))
                return i;
        for (i++; i + 8 < n; i += 8) {
                if (((STRIDES(i) | STRIDES(i + 2) | STRIDES(i + 4) | STRIDES(i + 6)) & 1) == 0)
                        continue;
                for (size_t k = i - 1; k < i + 8; k++)
                        if (pair_is(r->looks, p + k))
                                return k;
        }
        for (i--; i + 1 < n; i++)
                if (pair_is(r->looks, p + i))
                        return i;
#undef STRIDES
        return i < n && r->first[p[i]] ? i : n;
}

/* Whether a line ended before p[i]: LF, CR, \n, \r or %0a, %0d. */
static bool line_begins(const struct redact_stream *s, const uint8_t *p, size_t i) {
        uint8_t c[NEAR];

        for (size_t k = 0; k < NEAR; k++)
                c[k] = i + k >= NEAR ? p[i + k - NEAR] : s->near[i + k];
        switch (c[2]) {
        case '\n': case '\r': return true;
        case 'n': case 'r': return c[1] == '\\';
        case 'a': case 'A': case 'd': case 'D': return c[1] == '0' && c[0] == '%';
        default: return false;
        }
}

/* What begins at p[i]. */
static int begin(const struct redactor *r, struct redact_stream *s, const uint8_t *p, size_t i, size_t n, bool last) {
        s->n_runs = s->best = 0;
        bool whole = i + 1 < n ? r->begins[p[i]][p[i + 1] >> 6] >> (p[i + 1] & 63) & 1 : r->first[p[i]] & BEGINS_WHOLE,
             late = r->first[p[i]] & BEGINS_LATE && line_begins(s, p, i);
        uint64_t sets = whole || late ? sets_at(r, &s->place, p + i, n - i) : 0;
        if (sets == 0)
                return NO;
        if (whole)
                start_runs(r, s, 0, r->n_whole, sets);
        if (late)
                start_runs(r, s, r->n_whole, r->n_forms, sets);
        return s->n_runs > 0 ? follow_all(r, s, p + i, n - i, last) : NO;
}

/* Returns how many bytes are decided. under_way: the runs of the stream are from the first byte on. */
static size_t scan(const struct redactor *r, struct redact_stream *s, uint8_t *p, size_t n, bool under_way, bool last) {
        unsigned look = NEAR; /* places that the table of beginnings does not tell of */
        size_t i = 0;
        int is;

        s->place.p = NULL;
        while (i < n) {
                if (under_way)
                        is = follow_all(r, s, p, n, last);
                else {
                        if (look > 0)
                                look--;
                        else if ((i = skip(r, p, i, n)) == n)
                                break;
                        is = begin(r, s, p, i, n, last);
                }
                under_way = false;
                if (is == MORE)
                        break;
                if (is == YES) {
                        s->found[r->forms[s->best_form].pair]++;
                        i += replace(r, s->best_form, p + i, s->best);
                        s->place.p = NULL;
                        look = NEAR;
                        continue;
                }
                if (p[i] == '\n' || p[i] == '\r' || p[i] == '\\' || p[i] == '%')
                        look = NEAR;
                i++;
        }
        return i;
}

ssize_t redact_feed(const struct redactor *r, struct redact_stream *s, const char *p, size_t n, bool last, char *out, size_t out_size) {
        uint8_t *all = (uint8_t *)out;

        if (out_size < s->held || out_size - s->held < n)
                return -ENOBUFS;
        if (s->held > 0)
                memcpy(all, s->bytes, s->held);
        if (n > 0)
                memcpy(all + s->held, p, n);
        n += s->held;
        size_t done = scan(r, s, all, n, s->held > 0 && !s->anew, last);
        s->anew = false;
        for (size_t i = done < NEAR ? 0 : done - NEAR; i < done; i++) {
                memmove(s->near, s->near + 1, NEAR - 1);
                s->near[NEAR - 1] = all[i];
        }
        s->held = n - done;
        if (s->held > 0)
                memcpy(s->bytes, all + done, s->held);
        return (ssize_t)done;
}

void redact_text(const struct redactor *r, struct redact_stream *s, char *p, size_t n) {
        memset(s->near, 0, sizeof(s->near));
        scan(r, s, (uint8_t *)p, n, false, true);
        memset(s->near, 0, sizeof(s->near));
}

size_t redact_held(const struct redact_stream *s) {
        return s->held;
}

uint64_t redact_found(const struct redact_stream *s, size_t pair) {
        return s->found[pair];
}

/* --- Making one. */

static bool is_alnum(uint8_t c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool pair_is_possible(const struct redact_pair *p) {
        bool differ = false;

        for (size_t i = 0; i < p->n; i++) {
                uint8_t a = (uint8_t)p->find[i], b = (uint8_t)p->put[i];
                if (a != b && !(is_alnum(a) && is_alnum(b)))
                        return false;
                differ = differ || a != b;
        }
        return differ;
}

static size_t round_up(size_t n) {
        return (n + 15) & ~(size_t)15;
}

static size_t pairs_size(size_t n_pairs) {
        return round_up(sizeof(struct redactor) + n_pairs * sizeof(struct pair));
}

size_t redact_size(const struct redact_pair *pairs, size_t n_pairs) {
        size_t size = pairs_size(n_pairs);

        if (n_pairs > REDACT_PAIRS_MAX)
                return 0;
        for (size_t i = 0; i < n_pairs; i++) {
                if (pairs[i].n < REDACT_VALUE_MIN || pairs[i].n > REDACT_VALUE_MAX)
                        return 0;
                size += FORMS_MAX * sizeof(struct form) + 2 * pairs[i].n;
        }
        return size;
}

static void add_form(struct redactor *r, const struct form *f) {
        size_t symbols = f->end - f->from, units = symbols;

        if (f->kind == BASE64)
                units += 2 * (symbols / LINE_MIN);
        r->longest = MAX(r->longest, MIN(units * UNIT_LENGTH_MAX, REDACT_FORM_MAX));
        r->forms[r->n_forms++] = *f;
}

/* The text by itself: each way to read what it has of the bytes that escapes begin with. */
static void add_plain(struct redactor *r, struct form f) {
        const struct pair *p = &r->pairs[f.pair];
        uint8_t max[LEADS];

        f.end = (uint32_t)p->n;
        for (size_t i = 0; i < LEADS; i++)
                max[i] = !memchr(p->find, "%\\&"[i], p->n) ? 0 : i == 2 ? 1 : 2;
        for (f.level[0] = 0; f.level[0] <= max[0]; f.level[0]++)
                for (f.level[1] = 0; f.level[1] <= max[1]; f.level[1]++)
                        for (f.level[2] = 0; f.level[2] <= max[2]; f.level[2]++)
                                add_form(r, &f);
}

/* late: how many characters stand before a line break. */
static void add_base64(struct redactor *r, struct form f, uint8_t offset, size_t late) {
        const struct pair *p = &r->pairs[f.pair];
        unsigned mask, ends[2];

        f.kind = BASE64;
        f.offset = offset;
        f.from = offset;
        f.end = (uint32_t)((8 * (offset + p->n) + 5) / 6);
        /* What is shared and stays is not looked at: it would be waited for, and hold back what ends like it begins. */
        ends[0] = f.from;
        ends[1] = f.end - 1;
        for (size_t i = 0; i < 2; i++) {
                unsigned find = symbol_bits(&f, p->find, p->n, ends[i], &mask), put = symbol_bits(&f, p->put, p->n, ends[i], &mask);
                if (mask != 63 && find == put) {
                        f.from += i == 0;
                        f.end -= i == 1;
                }
        }
        f.from += (uint32_t)late;
        add_form(r, &f);
}

static void add_forms(struct redactor *r) {
        for (size_t i = 0; i < r->n_pairs; i++) {
                struct form f = {.pair = (uint16_t)i};
                add_plain(r, f);
                for (uint8_t offset = 0; offset < 3; offset++)
                        add_base64(r, f, offset, 0);
                f.kind = HEX;
                f.end = (uint32_t)(2 * r->pairs[i].n);
                add_form(r, &f);
        }
        r->n_whole = r->n_forms;
        for (size_t i = 0; i < r->n_pairs; i++)
                for (uint8_t offset = 0; offset < 3; offset++)
                        for (size_t late = 1; late <= LATE_STARTS; late++)
                                add_base64(r, (struct form){.pair = (uint16_t)i}, offset, late);
}

static bool may_begin(const struct redactor *r, size_t form, const uint8_t *p, size_t n) {
        struct run run = {.form = (uint16_t)form, .symbol = r->forms[form].from};
        struct place place = {};

        return follow(r, &run, &place, p, n, false) != NO;
}

static void pair_set(uint64_t table[256][4], unsigned a, unsigned b) {
        table[a][b >> 6] |= (uint64_t)1 << (b & 63);
}

static void make_sets(struct redactor *r) {
        for (size_t form = 0; form < r->n_forms; form++) {
                const struct form *f = &r->forms[form];
                for (unsigned ahead = 0; ahead < AHEAD; ahead++)
                        for (unsigned v = 0; v < 256; v++) {
                                const struct run run = {.form = (uint16_t)form, .symbol = f->from + ahead};
                                if (run.symbol >= f->end || fits(r, f, &run, (uint8_t)v) == SYMBOL ||
                                    (v == '+' && f->kind == PLAIN && fits(r, f, &run, ' ') == SYMBOL))
                                        r->fitting[ahead][v] |= (uint64_t)1 << form % SETS;
                        }
        }
}

/* By trying what one byte and what two may be the beginning of. */
static void make_table(struct redactor *r) {
        for (size_t form = 0; form < r->n_forms; form++)
                for (unsigned a = 0; a < 256; a++) {
                        bool whole = form < r->n_whole;
                        if (!may_begin(r, form, (uint8_t[]){(uint8_t)a}, 1))
                                continue;
                        r->first[a] |= whole ? BEGINS_WHOLE : BEGINS_LATE;
                        for (unsigned b = 0; whole && b < 256; b++)
                                if (may_begin(r, form, (uint8_t[]){(uint8_t)a, (uint8_t)b}, 2))
                                        pair_set(r->begins, a, b);
                }
        memcpy(r->looks, r->begins, sizeof(r->looks));
        for (unsigned b = 0; b < 256; b++)
                if (r->first[b] & BEGINS_LATE) {
                        pair_set(r->looks, '\n', b);
                        pair_set(r->looks, '\r', b);
                }
        if (r->n_whole < r->n_forms) {
                pair_set(r->looks, '\\', 'n');
                pair_set(r->looks, '\\', 'r');
                pair_set(r->looks, '%', '0');
        }
}

/* What a place has to look like for the one before, of which it tells nothing but this. */
static void make_strides(struct redactor *r) {
        for (unsigned a = 0; a < 256; a++)
                for (unsigned b = 0; b < 256; b++) {
                        const uint8_t pair[] = {(uint8_t)a, (uint8_t)b};
                        bool escapes = unit_is_lead(pair[0]) || unit_is_lead(pair[1]), ends = b == '\n' || b == '\r';
                        if (escapes || ends || pair_is(r->looks, pair) || (r->fitting[1][a] & r->fitting[2][b]) != 0)
                                r->strides[pair_index(pair) >> 6] |= (uint64_t)1 << (pair_index(pair) & 63);
                }
}

int redact_init(void *memory, size_t size, const struct redact_pair *pairs, size_t n_pairs, struct redactor **ret) {
        struct redactor *r = memory;
        size_t need = redact_size(pairs, n_pairs);

        if (need == 0)
                return -EINVAL;
        for (size_t i = 0; i < n_pairs; i++)
                if (!pair_is_possible(&pairs[i]))
                        return -EINVAL;
        if (size < need)
                return -ENOBUFS;
        memset(memory, 0, need);
        r->n_pairs = n_pairs;
        r->forms = (struct form *)((char *)memory + pairs_size(n_pairs));
        uint8_t *text = (uint8_t *)(r->forms + FORMS_MAX * n_pairs);
        for (size_t i = 0; i < n_pairs; i++) {
                size_t n = pairs[i].n;
                r->pairs[i] = (struct pair){memcpy(text, pairs[i].find, n), memcpy(text + n, pairs[i].put, n), n};
                text += 2 * n;
        }
        memset(r->sextet, 64, sizeof(r->sextet));
        for (unsigned i = 0; i < 64; i++)
                r->sextet[(uint8_t)base64_character(i, false)] = r->sextet[(uint8_t)base64_character(i, true)] = (uint8_t)i;
        add_forms(r);
        make_sets(r);
        make_table(r);
        make_strides(r);
        *ret = r;
        return 0;
}

static size_t runs_offset(const struct redactor *r) {
        return round_up(sizeof(struct redact_stream) + r->n_pairs * sizeof(uint64_t));
}

size_t redact_stream_size(const struct redactor *r) {
        return runs_offset(r) + r->n_forms * sizeof(struct run) + redact_held_max(r);
}

int redact_begin(const struct redactor *r, void *memory, size_t size, struct redact_stream **ret) {
        struct redact_stream *s = memory;

        if (size < redact_stream_size(r))
                return -ENOBUFS;
        memset(memory, 0, runs_offset(r)); /* the rest is written before it is read */
        s->runs = (struct run *)((char *)memory + runs_offset(r));
        s->bytes = (uint8_t *)(s->runs + r->n_forms);
        *ret = s;
        return 0;
}

int redact_follow(const struct redactor *r, const struct redact_stream *before, void *memory, size_t size, struct redact_stream **ret) {
        struct redact_stream *s;
        int k = redact_begin(r, memory, size, &s);

        if (k < 0)
                return k;
        if (before->held > redact_held_max(r))
                return -ENOBUFS;
        memcpy(s->near, before->near, sizeof(s->near));
        memcpy(s->bytes, before->bytes, before->held);
        s->held = before->held;
        s->anew = true;
        *ret = s;
        return 0;
}
