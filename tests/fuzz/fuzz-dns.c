/* Queries: whatever is read can be answered, the answer fits, repeats the question as it came and is itself never answered;
 * the text of a name says what stands on the wire. */
#include <stdlib.h>
#include <string.h>

#include "proto/dns.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static void check_name(const struct dns_question *q) {
        must(q->n_name <= DNS_NAME_MAX && q->name[q->n_name] == 0 && strlen(q->name) == q->n_name);
        must(q->n_name == 0 || q->is_hostname);
        if (!q->is_hostname)
                return;
        must(q->n_wire == q->n_name + 2 && q->wire[q->n_wire - 1] == 0);
        for (size_t i = 0, left = q->wire[0]; i < q->n_name; i++) {
                unsigned char wire = q->wire[i + 1], text = (unsigned char)q->name[i];
                if (left-- == 0) {
                        must(text == '.');
                        left = wire;
                } else
                        must(text != '.' && (wire == text || (wire >= 'A' && wire <= 'Z' && wire + 32 == text)));
        }
}

static void answer(const struct dns_question *q, struct dns_answer a) {
        unsigned char buf[DNS_REPLY_MAX];
        struct dns_question again;

        ssize_t n = dns_write(q, &a, buf, sizeof(buf));
        must(n >= 12);
        must(dns_read(buf, (size_t)n, &again) == -EBADMSG);
        must(q->id == (unsigned)(buf[0] << 8 | buf[1]) && (buf[3] & 0x0f) == (int)(a.rcode & 0x0f));
        must(!q->has_question || memcmp(buf + 12, q->wire, q->n_wire) == 0);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        struct dns_question q;
        size_t frame;

        if (dns_frame(data, size, &frame) == 0) {
                must(frame + 2 <= size);
                data += 2;
                size = frame;
        }
        int r = dns_read(data, size, &q);
        if (r < 0)
                return 0;
        must(r <= DNS_BADVERS && q.has_question == (q.n_wire > 0));
        check_name(&q);
        answer(&q, (struct dns_answer){.rcode = (enum dns_rcode)r});
        if (r > 0)
                return 0;
        must(q.klass == 1);
        answer(&q, (struct dns_answer){.rcode = DNS_NXDOMAIN, .ttl = 5});
        if (q.type == DNS_TYPE_A || q.type == DNS_TYPE_AAAA)
                answer(&q, (struct dns_answer){.ttl = 5, .n_addresses = DNS_ADDRESSES_MAX});
        return 0;
}
