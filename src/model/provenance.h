/* Where a URL comes from (docs/policy.md, "Given URLs"): the text that stands for one, what of it is new when others are known,
 * and what a response's references mean. What is known is kept by svc/net-given.h, as keyed hashes; here is what is hashed.
 *
 * The text of a URL is "https://host[:port]/path?key=value" in its canonical form. It has marks: behind scheme, host and port,
 * behind each part of the path and of the query. A URL that is given leaves its marks; another one that begins as it does is
 * new only behind the last mark that both have. Pure. */
#pragma once

#include "base/str.h"
#include "model/network.h"
#include "model/request.h"

#define PROVENANCE_TEXT_MAX (REQUEST_HOST_MAX + 17u + REQUEST_TARGET_MAX) /* bytes; no NUL */
#define PROVENANCE_MARKS_MAX 192u /* those behind are not looked at: what they would explain is new then */

struct provenance_key {
        uint64_t k[2];
};

struct provenance_mark {
        uint64_t hash; /* SipHash-2-4 of the text up to here and of what kind of mark it is; never 0 */
        uint32_t at;
        bool whole;    /* the URL as it is, and not only its beginning */
};

/* The text of what is asked for, or of an origin alone ("https://host", no path). Returns its length; -ENOBUFS. */
ssize_t provenance_text(const struct request *r, char *buf, size_t size) _must_check_;
size_t provenance_origin(const char *text, size_t n); /* length of its beginning: scheme, host, port */

/* The marks of a text, from its beginning to its end; where it has a path, the last is the whole. */
size_t provenance_marks(const struct provenance_key *k, const char *text, size_t n, struct provenance_mark ret[PROVENANCE_MARKS_MAX]);
/* Of an origin: that which counts what it was told. */
uint64_t provenance_origin_hash(const struct provenance_key *k, const char *text, size_t n);
/* Bits that a URL of n bytes carries where all before `at` is known: 8 for each byte, and 8 for where it ends. */
uint64_t provenance_bits(size_t n, size_t at);

/* The same of a URL where only another one, or an origin, is known; 0: it is that one. */
uint64_t provenance_bits_beyond(const char *url, size_t n, const char *known, size_t n_known);

/* What a reference in the response to `base` (a text as above) means, or what a URL by itself does where n_base is 0: the text of
 * a URL. Returns its length; -EINVAL: it means none that could be asked for. */
ssize_t provenance_resolve(const char *base, size_t n_base, const char *ref, size_t n_ref, char *buf, size_t size) _must_check_;

/* The URLs that a rule names by itself: its paths that are no patterns, of a host that is none; without paths its root. And its
 * origins, from which on only the path is new. */
int provenance_of_rule(const struct network_rule *r, struct strlist *ret) _must_check_;
