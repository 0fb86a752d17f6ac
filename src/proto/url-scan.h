/* Finds what may be URLs in the bytes of a response, piece by piece, whatever they are: HTML, JSON, XML, scripts, plain text.
 * No parser of any of these: a text that is taken for a URL and is none does no harm, one that is missed is asked for in vain.
 * Two looks at the same bytes:
 *   absolute   http://, https://, ws:// and wss:// anywhere, up to what cannot be in a URL; where a bracket, a comma or the like
 *              may end it in its surroundings, up to there as well;
 *   reference  what stands between two quotes alike, or behind href=, src= or action=, and begins like a path or a query; there
 *              also any other relative one.
 * Escapes of JSON and of JavaScript (\/ and \u0026) are undone, those of HTML (&amp;) as well: then both are found, since
 * nobody says which is meant.
 * Nothing is allocated; the caller resolves and canonicalises (model/provenance.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define URL_SCAN_MAX 4096u  /* bytes of a URL as it stands there: a longer one is not found */
#define URL_SCAN_SOFT_MAX 4u /* ends that it may have before its end; and as many at single quotes */

typedef void url_found(void *arg, const char *text, size_t n);

struct url_scan {
        url_found *found;
        void *arg;
        char before[24]; /* the last bytes, in lower case, the newest at the end */
        struct url_scan_take {
                bool on, too_long;
                char quote;     /* that ends it; 0: a blank or the end of the tag */
                unsigned soft, quotes; /* ends so far */
                size_t n;
                char text[URL_SCAN_MAX];
        } absolute, reference;
        bool attribute; /* of the reference: behind href= and the like */
};

void url_scan_begin(struct url_scan *s, url_found *found, void *arg);
void url_scan_read(struct url_scan *s, const char *p, size_t n);
/* The last byte was read: what is under way ends here. Not to be called where the text was cut. */
void url_scan_end(struct url_scan *s);
/* A whole text, such as an argument. */
void url_scan_text(struct url_scan *s, const char *p, size_t n, url_found *found, void *arg);
