#include "base/str.h"
#include "model/canonical.h"
#include "model/sigv4.h"
#include "tap.h"

/* The keys of AWS's own examples, in parts. */
#define SUITE_SECRET "wJalrXUtnFEMI/K7MDENG" "+bPxRfiCY" "EXAMPLEKEY"
#define S3_ACCESS "AKIA" "IOSFODNN7" "EXAMPLE"
#define S3_SECRET "wJalrXUtnFEMI/K7MDENG" "/bPxRfiCY" "EXAMPLEKEY"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define T(s) ((struct request_text){(s), strlen(s)})

struct example {
        const char *name, *method, *target, *fields, *body, *signature; /* fields: "name:value" in lines */
};

/* Fields as lines; host, x-amz-date and, for S3, the hash are added. */
static size_t read_fields(const char *lines, struct sigv4_field *f) {
        size_t n = 0;

        while (*lines) {
                size_t line = strcspn(lines, "\n"), name = strcspn(lines, ":");
                f[n++] = (struct sigv4_field){{lines, name}, {lines + name + 1, line - name - 1}};
                lines += line + (lines[line] == '\n');
        }
        return n;
}

static void read_target(const char *target, struct request *r) {
        static char buf[REQUEST_TARGET_MAX];
        const char *why = NULL;

        if (canonical_target(target, strlen(target), buf, sizeof(buf), r, &why) < 0)
                printf("# %s: %s\n", target, why);
        check(why == NULL);
}

static const char *hash_of(const char *s, char text[SHA256_TEXT]) {
        uint8_t hash[SHA256_SIZE];

        sha256(s, strlen(s), hash);
        return sha256_text(hash, text) + 7;
}

/* The Authorization of one; token may be "". */
static bool twice; /* the path is encoded */
static const char *sign(const struct example *x, bool s3, const char *token) {
        static char buf[SIGV4_AUTHORIZATION_MAX];
        static struct request r;
        struct sigv4_work work;
        char body[SHA256_TEXT];
        struct sigv4_field f[16];
        const char *why = NULL, *time = s3 ? "20130524T000000Z" : "20150830T123600Z", *payload = hash_of(x->body, body);
        size_t n = read_fields(x->fields, f);

        r = (struct request){.method = T(x->method)};
        read_target(x->target, &r);
        if (s3)
                f[n++] = (struct sigv4_field){T("x-amz-content-sha256"), T(payload)};
        f[n++] = (struct sigv4_field){T("x-amz-date"), T(time)};
        f[n++] = (struct sigv4_field){T("host"), s3 ? T("examplebucket.s3.amazonaws.com") : T("example.amazonaws.com")};
        const struct sigv4_request q = {&r, f, n, T(payload), T(time), T("us-east-1"), s3 ? T("s3") : T("service"), !twice};
        const struct sigv4_credentials c = {s3 ? T(S3_ACCESS) : T("AKIDEXAMPLE"), s3 ? T(S3_SECRET) : T(SUITE_SECRET), T(token)};
        memset(&work, 0xff, sizeof(work));
        ssize_t length = sigv4_sign(&q, &c, &work, buf, sizeof(buf), &why);
        if (length < 0)
                printf("# %s: %s\n", x->name, why);
        check(length > 0 && (size_t)length == strlen(buf));
        for (size_t i = 0; i < sizeof(work); i++)
                check(((const char *)&work)[i] == 0);
        return buf;
}

static void check_example(const struct example *x, bool s3, const char *token) {
        const char *all = sign(x, s3, token), *signature = strstr(all, ", Signature=");
        struct sigv4_authorization a;

        check(signature != NULL);
        if (!streq(signature + 12, x->signature))
                printf("# %s\n", x->name);
        check_streq(signature + 12, x->signature);
        check(sigv4_read(all, strlen(all), &a, NULL) == 0);
}

/* AWS's test suite (aws-sig-v4-test-suite), what of it has a canonical form here; its paths are encoded once. */
#define UNRESERVED "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
static const struct example suite[] = {
        {"get-vanilla", "GET", "/", "", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
        {"get-vanilla-empty-query-key", "GET", "/?Param1=value1", "", "", "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
        {"get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1", "", "",
         "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
        {"get-vanilla-query-unreserved", "GET", "/?" UNRESERVED "=" UNRESERVED, "", "",
         "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
        {"get-vanilla-utf8-query", "GET", "/?\xe1\x88\xb4=bar", "", "", "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
        {"get-unreserved", "GET", "/" UNRESERVED, "", "", "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
        {"get-utf8", "GET", "/\xe1\x88\xb4", "", "", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
        {"get-relative-relative", "GET", "/example1/example2/../..", "", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
        {"get-header-key-duplicate", "GET", "/", "my-header1:value2\nmy-header1:value2\nmy-header1:value1", "",
         "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
        {"get-header-value-order", "GET", "/", "my-header1:value4\nmy-header1:value1\nmy-header1:value3\nmy-header1:value2", "",
         "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
        {"get-header-value-trim", "GET", "/", "my-header2: \"a   b   c\"\nmy-header1: value1", "",
         "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
        {"post-vanilla", "POST", "/", "", "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
        {"post-vanilla-query", "POST", "/?Param1=value1", "", "", "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
        {"post-vanilla-query-nonunreserved", "POST", "/?@%23$%25%5E=&%2B=/,?%3E%3C%60%22%3B:%5C%7C%5D%5B%7B%7D", "", "",
         "66c82657c86e26fb25238d0e69f011edc4c6df5ae71119d7cb98ed9b87393c1e"},
        {"post-vanilla-query-space", "POST", "/?p=", "", "", "e71688addb58a26418614085fb730ba3faa623b461c17f48f2fbdb9361b94a9b"},
        {"post-header-key-sort", "POST", "/", "my-header1:value1", "", "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
        {"post-header-value-case", "POST", "/", "my-header1:VALUE1", "", "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
        {"post-x-www-form-urlencoded", "POST", "/", "content-type:application/x-www-form-urlencoded", "Param1=value1",
         "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
        {"post-x-www-form-urlencoded-parameters", "POST", "/", "content-type:application/x-www-form-urlencoded; charset=utf8", "Param1=value1",
         "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe"},
};

TEST(suite) {
        for (size_t i = 0; i < ELEMENTSOF(suite); i++)
                check_example(suite + i, false, "");
        check_streq(sign(suite, false, ""), "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, "
                                            "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

TEST(session_token) {
        static const struct example x = {"post-sts-header-before", "POST", "/", "", "", "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"};

        check_example(&x, false, "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSE"
                      "I/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD"
                      "0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==");
        check(strstr(sign(&x, false, "abc"), "SignedHeaders=host;x-amz-date;x-amz-security-token,"));
}

/* S3's API reference, "Examples: Signature Calculations". */
TEST(s3) {
        static const struct example examples[] = {
                {"get object", "GET", "/test.txt", "range:bytes=0-9", "", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
                {"put object", "PUT", "/test$file.text", "date:Fri, 24 May 2013 00:00:00 GMT\nx-amz-storage-class:REDUCED_REDUNDANCY", "Welcome to Amazon S3.",
                 "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
                {"get bucket lifecycle", "GET", "/?lifecycle", "", "", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
                {"list objects", "GET", "/?max-keys=2&prefix=J", "", "", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
        };

        for (size_t i = 0; i < ELEMENTSOF(examples); i++)
                check_example(examples + i, true, "");
}

/* As botocore has them: a path that is encoded twice; keys of a query in every order that there is. */
TEST(encodings) {
        static const struct example path = {"path", "GET", "/a%20b/\xc3\xbc$/~?x=1", "b:c", "", "3cd9c57149650cc4352344a4f5e014f4ef43ad3ba7bfea3ef6fb5453b520fc91"};
        static const struct example query = {"query", "GET", "/?a-=0&a=2&a+=3&a=10&~=5&%7e=6&%c3%9c=7&%25=8&a=1&A=9&=11&%2b=12", "b:c", "",
                                             "e67c911fab35e269823135ebe5de7852eb7ae3ddb13f4e48ca54a12c47926b1d"};

        twice = true;
        check_example(&path, false, "");
        check_example(&query, false, "");
        twice = false;
        check(!strstr(sign(&path, false, ""), path.signature));
}

/* Whatever is changed changes the signature; a blank, a field's or a key's place does not. */
TEST(what_is_signed) {
        static const struct example base = {"", "GET", "/a%20b/?k=1&l=", "my-header:a b", "x", ""};
        static const struct example same_ones[] = {
                {"", "GET", "/a%20b/?l&k=1", "my-header:  a \t b ", "x", ""}, {"", "GET", "/x/../%61%20b/?k=%31&l=", "my-header:a b", "x", ""}};
        static const struct example others[] = {{"", "PUT", "/a%20b/?k=1&l=", "my-header:a b", "x", ""}, {"", "GET", "/a%20c/?k=1&l=", "my-header:a b", "x", ""},
                {"", "GET", "/a%20b?k=1&l=", "my-header:a b", "x", ""}, {"", "GET", "/a%20b/?k=2&l=", "my-header:a b", "x", ""},
                {"", "GET", "/a%20b/?k=1", "my-header:a b", "x", ""}, {"", "GET", "/a%20b/?k=1&l=", "my-header:ab", "x", ""},
                {"", "GET", "/a%20b/?k=1&l=", "my-headers:a b", "x", ""}, {"", "GET", "/a%20b/?k=1&l=", "my-header:a b", "y", ""},
                {"", "GET", "/a%20b/?k=1&k=1&l=", "my-header:a b", "x", ""}, {"", "GET", "/a%20b/?k=1&l=", "my-header:a b\nmy-header:", "x", ""}};
        static const struct example one_byte[] = {{"", "GET", "/", "b:c", "", ""}, {"", "GET", "/", "c:c", "", ""}};
        char first[SIGV4_AUTHORIZATION_MAX];

        snprintf(first, sizeof(first), "%s", sign(one_byte, false, ""));
        check(strcmp(first + strlen(first) - 64, strchr(sign(one_byte + 1, false, ""), 0) - 64) != 0);
        snprintf(first, sizeof(first), "%s", sign(&base, false, ""));
        for (size_t i = 0; i < ELEMENTSOF(same_ones); i++)
                check_streq(sign(same_ones + i, false, ""), first);
        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                check(strcmp(sign(others + i, false, ""), first) != 0);
}

static const char *target_of(const char *target) {
        static char buf[3 * REQUEST_TARGET_MAX + 1];
        static struct request r;

        r = (struct request){};
        read_target(target, &r);
        ssize_t n = sigv4_write_target(&r, buf, sizeof(buf) - 1);
        check(n >= 0 && sigv4_write_target(&r, buf, (size_t)n) == n);
        check(n == 0 || sigv4_write_target(&r, buf, (size_t)n - 1) == -ENOBUFS);
        buf[n] = 0;
        return buf;
}

/* It is as AWS encodes, and reads as the same request. */
TEST(target) {
        check_streq(target_of("/"), "/");
        check_streq(target_of("*"), "*");
        check_streq(target_of("/a/x/../b$c+d/%7e:@!'()*,=&"), "/a/b%24c%2Bd/~%3A%40%21%27%28%29%2A%2C%3D%26");
}

TEST(target_query) {
        check_streq(target_of("/x/?b=1&a&c=&d=%2B+%20/?:&%e1%88%b4"), "/x/?b=1&a&c=&d=%2B%20%20%2F%3F%3A&%E1%88%B4");
        check_streq(target_of("/\xe1\x88\xb4"), "/%E1%88%B4");
}

static void reads(const char *s) {
        struct sigv4_authorization a;
        const char *why = NULL;

        if (sigv4_read(s, strlen(s), &a, &why) < 0)
                printf("# %s: %s\n", s, why);
        check(why == NULL);
}
static void refuses(const char *s, int error) {
        struct sigv4_authorization a = {.n_names = 77};
        const char *why = NULL;

        if (sigv4_read(s, strlen(s), &a, &why) != error)
                printf("# %s: %s\n", s, why);
        check(sigv4_read(s, strlen(s), &a, &why) == error && why && a.n_names == 77);
        check(sigv4_read(s, strlen(s), &a, NULL) == error);
}

#define SIG "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SCOPE "AKIDEXAMPLE/20150830/us-east-1/s3/aws4_request"

TEST(read) {
        static const char whole[] = "AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=a;host;x-amz-date, Signature=" SIG;
        struct sigv4_authorization a;

        check(sigv4_read(whole, strlen(whole), &a, NULL) == 0);
        check(a.access.n == 11 && memcmp(a.access.p, "AKIDEXAMPLE", 11) == 0 && a.date.n == 8 && memcmp(a.date.p, "20150830", 8) == 0);
        check(a.region.n == 9 && memcmp(a.region.p, "us-east-1", 9) == 0 && a.service.n == 2 && memcmp(a.service.p, "s3", 2) == 0);
        check(a.n_names == 3 && a.name[0].n == 1 && a.name[1].n == 4 && memcmp(a.name[2].p, "x-amz-date", 10) == 0);
        check(a.signature.n == 64 && memcmp(a.signature.p, SIG, 64) == 0);
        reads("AWS4-HMAC-SHA256 Credential=" SCOPE ",SignedHeaders=host,Signature=" SIG);
        reads("AWS4-HMAC-SHA256 Credential=a_B9/20240229/eu/AWSMobileHubService/aws4_request, SignedHeaders=host, Signature=" SIG);
        reads("AWS4-HMAC-SHA256 Credential=a/20000229/r/s/aws4_request, SignedHeaders=host, Signature=" SIG);
        reads("AWS4-HMAC-SHA256 Credential=a/20151231/r/s/aws4_request, SignedHeaders=host, Signature=" SIG);
        for (size_t n = 0; n < strlen(whole); n++) { /* each beginning, none of which is read beyond */
                char *part = memcpy(malloc(n + (n == 0)), whole, n);
                check(sigv4_read(part, n, &a, NULL) == -EINVAL);
                free(part);
        }
}

TEST(read_refuses) {
        refuses("", -EINVAL);
        refuses("Bearer x", -EINVAL);
        refuses("AWS4-ECDSA-P256-SHA256 Credential=" SCOPE ", SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("aws4-hmac-sha256 Credential=" SCOPE ", SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256  Credential=" SCOPE ", SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ",  SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ", Signature=" SIG ", SignedHeaders=host", -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE "/x, SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=/20150830/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=a,b/20150830/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=a/20150830//s3/aws4_request, SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=a/20150830/r%2f/s3/aws4_request, SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=a/20150830/r/s3/aws5_request, SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=a/20151330/r/s3/aws4_request, SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=a/20150832/r/s3/aws4_request, SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=a/20150229/r/s3/aws4_request, SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=a/21000229/r/s3/aws4_request, SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=a/2015083/r/s3/aws4_request, SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=a;b, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=Host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=host;a, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=host;host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=host;, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=a b;host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=host, Signature=" SIG "0", -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=host, " SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ", host, Signature=" SIG, -EINVAL);
        refuses(SCOPE ", SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=a/20150830/r/s/SignedHeaders=host, Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=host, Signature=" SIG " ", -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=host, Signature=" SIG ", Signature=" SIG, -EINVAL);
        refuses("AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=host, Signature=0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", -EINVAL);
}

TEST(read_limits) {
        char text[8192], *p = text + sprintf(text, "AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=");
        struct sigv4_authorization a;

        for (unsigned i = 0; i < SIGV4_FIELDS_MAX - 1; i++)
                p += sprintf(p, "a%02u;", i);
        snprintf(p, 128, "host, Signature=" SIG);
        check(sigv4_read(text, strlen(text), &a, NULL) == 0 && a.n_names == SIGV4_FIELDS_MAX);
        snprintf(p, 128, "b;host, Signature=" SIG);
        refuses(text, -E2BIG);
        snprintf(text, sizeof(text), "AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=%0128d;host, Signature=" SIG, 0);
        reads(text);
        snprintf(text, sizeof(text), "AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=%0129d;host, Signature=" SIG, 0);
        refuses(text, -E2BIG);
        snprintf(text, sizeof(text), "AWS4-HMAC-SHA256 Credential=%0128d/20150830/r/s3/aws4_request, SignedHeaders=host, Signature=" SIG, 0);
        reads(text);
        snprintf(text, sizeof(text), "AWS4-HMAC-SHA256 Credential=%0129d/20150830/r/s3/aws4_request, SignedHeaders=host, Signature=" SIG, 0);
        refuses(text, -E2BIG);
        snprintf(text, sizeof(text), "AWS4-HMAC-SHA256 Credential=a/20150830/%065d/s3/aws4_request, SignedHeaders=host, Signature=" SIG, 0);
        refuses(text, -E2BIG);
}

/* One that can be signed, to be spoilt. */
struct whole {
        struct request r;
        struct sigv4_field f[SIGV4_FIELDS_MAX + 1];
        struct sigv4_request q;
        struct sigv4_credentials c;
        char *buf; /* of just this size, so that what is written beyond is seen */
        size_t size;
};
static struct whole *whole(void) {
        static struct whole w;

        free(w.buf);
        memset(&w, 0, sizeof(w));
        w.r.method = T("GET");
        read_target("/a", &w.r);
        w.f[0] = (struct sigv4_field){T("host"), T("h.test")};
        w.f[1] = (struct sigv4_field){T("x-amz-date"), T("20150830T123600Z")};
        w.f[2] = (struct sigv4_field){T("x-more"), T("y")};
        w.q = (struct sigv4_request){&w.r, w.f, 3, T("UNSIGNED-PAYLOAD"), T("20150830T123600Z"), T("us-east-1"), T("s3"), true};
        w.c = (struct sigv4_credentials){T("AKIDEXAMPLE"), T(SUITE_SECRET), T("")};
        w.buf = malloc(w.size = SIGV4_AUTHORIZATION_MAX);
        return &w;
}
static void resize(struct whole *w, size_t size) {
        w->buf = realloc(w->buf, size + (size == 0));
        w->size = size;
}
static void signs(struct whole *w, ssize_t expected, const char *expected_why) {
        struct sigv4_work work;
        const char *why = "";

        memset(&work, 0xff, sizeof(work));
        ssize_t x = sigv4_sign(&w->q, &w->c, &work, w->buf, w->size, &why);
        if (!strstr(why, expected_why))
                printf("# %zd: %s\n", x, why);
        check((expected == 0 ? x > 0 : x == expected) && strstr(why, expected_why));
        for (size_t i = 0; i < sizeof(work); i++)
                check(((const char *)&work)[i] == 0);
}
#define SPOILT(change, error, why)             \
        do {                                   \
                struct whole *w = whole();     \
                change;                        \
                signs(w, error, why);          \
        } while (0)

TEST(sign_refuses) {
        static char big[SIGV4_TOKEN_MAX + 2];

        memset(big, 'a', sizeof(big) - 1);
        SPOILT((void)0, 0, "");
        SPOILT(w->c.access = T(""), -EINVAL, "access key id");
        SPOILT(w->c.access = T("a\r\nx: y"), -EINVAL, "access key id");
        SPOILT(w->c.access = ((struct request_text){big, SIGV4_ACCESS_MAX + 1}), -E2BIG, "too long");
        SPOILT(w->c.secret = T(""), -EINVAL, "secret key");
        SPOILT(w->c.secret = T("a b"), -EINVAL, "secret key");
        SPOILT(w->c.secret = ((struct request_text){big, SIGV4_SECRET_MAX}), 0, "");
        SPOILT(w->c.secret = ((struct request_text){big, SIGV4_SECRET_MAX + 1}), -E2BIG, "too long");
        SPOILT(w->c.token = T("a\nb"), -EINVAL, "session token");
        SPOILT(w->c.token = ((struct request_text){big, SIGV4_TOKEN_MAX}), 0, "");
        SPOILT(w->c.token = ((struct request_text){big, SIGV4_TOKEN_MAX + 1}), -E2BIG, "too long");
        SPOILT(w->q.region = T("us/east"), -EINVAL, "region");
        SPOILT(w->q.service = T("s3\n"), -EINVAL, "service");
        SPOILT(w->q.service = T(""), -EINVAL, "service");
        SPOILT(w->q.time = T("20150830T123600"), -EINVAL, "the time");
        SPOILT(w->q.time = T("20150830T246000Z"), -EINVAL, "the time");
        SPOILT(w->q.time = T("20150830T240000Z"), -EINVAL, "the time");
        SPOILT(w->q.time = T("20150830T236000Z"), -EINVAL, "the time");
        SPOILT(w->q.time = T("20150830T235961Z"), -EINVAL, "the time");
        SPOILT(w->q.time = T("20150230T123600Z"), -EINVAL, "the time");
        SPOILT(w->q.time = T("20150830 123600Z"), -EINVAL, "the time");
        SPOILT(w->q.time = T("20150830T123600+"), -EINVAL, "the time");
        SPOILT(w->q.time = T("20150830T1236aaZ"), -EINVAL, "the time");
        SPOILT(w->q.time = T("20150830T123601Z"), -EINVAL, "x-amz-date");
        SPOILT(w->q.payload = T("STREAMING-AWS4-HMAC-SHA256-PAYLOAD"), -EINVAL, "pieces");
        SPOILT(w->q.payload = T("STREAMING-UNSIGNED-PAYLOAD-TRAILER"), 0, "");
        SPOILT(w->q.payload = T(EMPTY), 0, "");
        SPOILT(w->q.payload = ((struct request_text){EMPTY, 63}), -EINVAL, "payload");
        SPOILT(w->q.payload = T(""), -EINVAL, "payload");
        SPOILT(w->f[2] = ((struct sigv4_field){T("x-amz-content-sha256"), T(EMPTY)}), -EINVAL, "not the payload's");
        SPOILT(w->f[2] = ((struct sigv4_field){T("authorization"), T("x")}), -EINVAL, "the signature brings");
        SPOILT(w->f[2] = ((struct sigv4_field){T("x-amz-security-token"), T("x")}), -EINVAL, "the signature brings");
        SPOILT(w->f[2] = ((struct sigv4_field){T("X-More"), T("x")}), -EINVAL, "lower case");
        SPOILT(w->f[2] = ((struct sigv4_field){T("x;y"), T("x")}), -EINVAL, "lower case");
        SPOILT(w->f[2] = ((struct sigv4_field){T(""), T("x")}), -EINVAL, "lower case");
        SPOILT(w->f[2] = ((struct sigv4_field){T("x"), T("a\nb:c")}), -EINVAL, "control character");
        SPOILT(w->f[2] = ((struct sigv4_field){T("x"), ((struct request_text){"a\0b", 3})}), -EINVAL, "control character");
        SPOILT(w->f[2] = ((struct sigv4_field){((struct request_text){big, SIGV4_FIELD_NAME_MAX + 1}), T("x")}), -E2BIG, "too long");
        SPOILT(w->f[2] = ((struct sigv4_field){T("host"), T("other.test")}), -EINVAL, "two hosts");
        SPOILT(w->f[2] = w->f[1], -EINVAL, "x-amz-date");
        SPOILT(w->q.n_fields = 1, -EINVAL, "needs the fields");
        SPOILT(w->q.field++; w->q.n_fields--, -EINVAL, "needs the fields");
        SPOILT(w->r.n_segments = 0, -EINVAL, "no path");
        SPOILT(w->r.method.n = 0, -EINVAL, "no method");
        SPOILT(for (unsigned i = 3; i <= SIGV4_FIELDS_MAX; i++) w->f[i] = w->f[2]; w->q.n_fields = SIGV4_FIELDS_MAX, 0, "");
        SPOILT(for (unsigned i = 3; i <= SIGV4_FIELDS_MAX; i++) w->f[i] = w->f[2]; w->q.n_fields = SIGV4_FIELDS_MAX + 1, -E2BIG, "too many");
        SPOILT(signs(w, 0, ""); resize(w, strlen(w->buf) + 1), 0, "");
        SPOILT(signs(w, 0, ""); resize(w, strlen(w->buf)), -ENOBUFS, "does not fit");
        SPOILT(resize(w, 40), -ENOBUFS, "does not fit");
        SPOILT(resize(w, 0), -ENOBUFS, "does not fit");
}

/* All at their limits, it still fits. */
TEST(longest) {
        struct whole *w = whole();
        static char names[SIGV4_FIELDS_MAX][SIGV4_FIELD_NAME_MAX], region[SIGV4_NAME_MAX], access[SIGV4_ACCESS_MAX];

        memset(names, 'n', sizeof(names));
        memset(region, 'r', sizeof(region));
        memset(access, 'a', sizeof(access));
        for (unsigned i = 2; i < SIGV4_FIELDS_MAX; i++) {
                names[i][0] = (char)('a' + i % 26);
                names[i][1] = (char)('a' + i / 26);
                w->f[i] = (struct sigv4_field){{names[i], SIGV4_FIELD_NAME_MAX}, T("x")};
        }
        w->q.n_fields = SIGV4_FIELDS_MAX;
        w->q.region = w->q.service = (struct request_text){region, sizeof(region)};
        w->c.access = (struct request_text){access, sizeof(access)};
        w->c.token = T("t");
        signs(w, 0, "");
        unsigned semicolons = 0;
        for (const char *p = w->buf; *p; p++)
                semicolons += *p == ';';
        check(semicolons == SIGV4_FIELDS_MAX && strstr(w->buf, ";x-amz-security-token;"));
}

TEST(in_query) {
        struct request r = {};

        read_target("/?a=1&x-amz-signature=0&b", &r);
        check(sigv4_in_query(&r));
        read_target("/?X-Amz-%43redential=0", &r);
        check(sigv4_in_query(&r));
        read_target("/?AWSAccessKeyId=0&Signature=1", &r);
        check(sigv4_in_query(&r));
        read_target("/?x-amz-meta=0&signature=1&Action=ListUsers&x-amz-signaturf=1&AWSAccessKeyIx=2", &r);
        check(!sigv4_in_query(&r));
        read_target("/", &r);
        check(!sigv4_in_query(&r));
}

TEST(once) {
        check(sigv4_encodes_once(T("s3")) && sigv4_encodes_once(T("s3-outposts")) && sigv4_encodes_once(T("s3-object-lambda")));
        check(!sigv4_encodes_once(T("")) && !sigv4_encodes_once(T("s")) && !sigv4_encodes_once(T("sts")) && !sigv4_encodes_once(T("bedrock")));
}

TAP_MAIN
