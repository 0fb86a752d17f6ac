/* The broker's credential in a field of a request's body (SECRET_BODY): put in where the field's whole value is its placeholder, as
 * the body passes. Whether it is one, the body shows on its way; what is not clear from its head on (another type, an encoding) has
 * no field. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "proto/body-field.h"
#include "role/broker/broker.h"
#include "svc/http-relay.h"
#include "svc/net-secret.h"

static bool is_name(struct http_text name, const char *text) { return name.n == strlen(text) && strncasecmp(name.p, text, name.n) == 0; }

static enum body_kind kind_of(const struct http_head *head) {
        enum body_kind kind = BODY_OTHER;
        unsigned types = 0;

        for (size_t i = 0; i < head->n_fields; i++) {
                const struct http_field *f = &head->field[i];
                struct http_text name = http_field_name(head, f), value = http_field_value(head, f);
                if (is_name(name, "content-encoding"))
                        return BODY_OTHER;
                if (is_name(name, "content-type") && types++ == 0)
                        kind = body_kind_of(value.p, value.n);
        }
        return types == 1 ? kind : BODY_OTHER;
}

bool credential_body_begin(struct credential_body *x, const struct http_head *head) {
        const struct net_secret_block *b = credential_block();
        const enum body_kind kind = b->identity > 0 && b->place == SECRET_BODY ? kind_of(head) : BODY_OTHER;

        if (kind == BODY_OTHER)
                return true;
        x->field = (struct body_field *)malloc(body_field_size(b->n_value));
        x->generation = credential_generation();
        return x->field && body_field_begin(x->field, body_field_size(b->n_value), kind, b->body, b->all[b->identity - 1].placeholder, b->value, b->n_value) == 0;
}

void credential_body_end(struct credential_body *x) {
        free(x->field); /* it holds back nothing but beginnings of the placeholder */
        *x = (struct credential_body){};
}

size_t credential_body_held(void) { return credential_block()->place == SECRET_BODY ? BODY_FIELD_HELD_MAX : 0; }

bool credential_body_fill(struct credential_body *x, const char **p, size_t *n, bool last) {
        static char filled[HTTP_RELAY_BYTES + BODY_FIELD_HELD_MAX], why[160];
        const struct net_secret_block *b = credential_block();

        if (!x->field || *n > HTTP_RELAY_BYTES)
                return true;
        if (credential_generation() - x->generation >= CREDENTIAL_GENERATIONS) {
                x->why = "the body takes longer than the secret that goes into it lives";
                return false;
        }
        const bool was = x->field->put;
        *n = body_field_feed(x->field, *p, *n, last, filled);
        *p = filled;
        x->carries = x->field->put;
        if (x->carries && x->field->spoiled)
                x->why = "the body that has a secret in it is not what its type says, or has the secret's field twice";
        else if (x->carries && !was && !account_secret_use(b->identity, b->uses)) {
                snprintf(why, sizeof(why), "the secret %.64s has been used as often as its policy lets it be", b->all[b->identity - 1].name);
                x->why = why;
                x->carries = false;
        }
        return !x->why;
}
