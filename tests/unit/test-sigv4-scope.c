/* What requests may be signed for, and which are answered with new credentials. */
#include "model/canonical.h"
#include "model/secret-sigv4.h"
#include "tap.h"

#define T(s) ((struct request_text){(s), strlen(s)})

static bool fits(const char *host, const char *service, const char *region, const char *services, const char *regions) {
        const char *why = NULL;
        bool good = sigv4_scope_fits(T(host), T(service), T(region), services, regions, &why);

        check(good || why);
        return good;
}

TEST(a_host_says_service_and_region) {
        static const struct { const char *host, *service, *region; } good[] = {
                {"sts.eu-central-1.amazonaws.com", "sts", "eu-central-1"}, {"sts.amazonaws.com", "sts", "us-east-1"}, {"sts-fips.us-east-1.amazonaws.com", "sts", "us-east-1"},
                {"s3.eu-west-1.amazonaws.com", "s3", "eu-west-1"}, {"b.s3.eu-west-1.amazonaws.com", "s3", "eu-west-1"}, {"a.b.s3.amazonaws.com", "s3", "eu-west-1"},
                {"b.s3.dualstack.us-west-2.amazonaws.com", "s3", "us-west-2"}, {"ap-1.s3-accesspoint.us-west-2.amazonaws.com", "s3", "us-west-2"},
                {"s3.us-gov-west-1.amazonaws.com", "s3", "us-gov-west-1"}, {"s3.cn-north-1.amazonaws.com.cn", "s3", "cn-north-1"}, {"dynamodb.eu-west-1.api.aws", "dynamodb", "eu-west-1"},
                {"x.execute-api.us-east-2.amazonaws.com", "execute-api", "us-east-2"}, {"bedrock-runtime.us-east-1.amazonaws.com", "bedrock", "us-east-1"},
                {"email.us-east-1.amazonaws.com", "ses", "us-east-1"}, {"search-a-b.us-east-1.es.amazonaws.com", "es", "us-east-1"}, {"api.ecr.us-east-1.amazonaws.com", "ecr", "us-east-1"},
                {"vpce-1.s3.us-east-1.vpce.amazonaws.com", "s3", "us-east-1"}, {"x.lambda-url.us-east-1.on.aws", "lambda", "us-east-1"}, {"store.example", "anything", "anywhere"},
        };
        static const struct { const char *host, *service, *region; } bad[] = {
                {"sts.eu-central-1.amazonaws.com", "s3", "eu-central-1"}, {"sts.eu-central-1.amazonaws.com", "sts", "us-east-1"}, {"sts.amazonaws.com", "iam", "us-east-1"},
                {"sts.b.s3.eu-west-1.amazonaws.com", "sts", "eu-west-1"}, {"b.s3.eu-west-1.amazonaws.com", "s", "eu-west-1"}, {"s3.eu-west-1.amazonaws.com", "s3express", "eu-west-1"},
                {"dynamodb.eu-west-1.api.aws", "sts", "eu-west-1"}, {"amazonaws.com.sts.amazonaws.com", "amazonaws", "us-east-1"}, {"eu-west-1.amazonaws.com", "sts", "eu-west-1"},
        };
        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                if (!fits(good[i].host, good[i].service, good[i].region, "", "")) {
                        printf("# %s %s %s\n", good[i].host, good[i].service, good[i].region);
                        check(false);
                }
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                if (fits(bad[i].host, bad[i].service, bad[i].region, "", "")) {
                        printf("# %s %s %s\n", bad[i].host, bad[i].service, bad[i].region);
                        check(false);
                }
}

TEST(lists_are_what_they_name) {
        check(fits("x.example", "s3", "r1", "sts,s3", "r1") && fits("x.example", "s3", "r1", "s3", "r0,r1,r2"));
        check(!fits("x.example", "s", "r1", "sts,s3", "r1") && !fits("x.example", "s3,sts", "r1", "sts,s3", "r1") && !fits("x.example", "sts,", "r1", "sts,s3", "") &&
              !fits("x.example", "s3", "r", "s3", "r1") && !fits("x.example", "S3", "r1", "s3", "r1"));
        /* In place of what the host says, each by itself. */
        check(fits("sts.eu-central-1.amazonaws.com", "other", "eu-central-1", "other", "") && !fits("sts.eu-central-1.amazonaws.com", "other", "eu-west-1", "other", ""));
        check(fits("sts.eu-central-1.amazonaws.com", "sts", "eu-west-1", "", "eu-west-1") && !fits("sts.eu-central-1.amazonaws.com", "s3", "eu-west-1", "", "eu-west-1"));
}

static bool mints(const char *target, const char *service, const char *x_target, const char *body, bool form) {
        static char buf[REQUEST_TARGET_MAX];
        static struct request r;
        const char *why = NULL;

        check(canonical_target(target, strlen(target), buf, sizeof(buf), &r, &why) == 0);
        bool x = sigv4_mints(&r, T(service), T(x_target), T(body), form, &why);
        check(x == (why != NULL));
        return x;
}

TEST(new_credentials) {
        static const struct { const char *target, *service, *x_target, *body; bool form; } are[] = {
                {"/", "sts", "", "Action=AssumeRole&Version=2011-06-15", true}, {"/?Action=AssumeRole", "sts", "", "", false}, {"/?Action=GetSessionToken", "sts", "", "", false},
                {"/", "sts", "", "A%63tion=Assume%52ole", true}, {"/", "sts", "", "action=assumerole", true}, {"/", "sts", "", "Action=GetCallerIdentity&Action=AssumeRole", true},
                {"/?Action=GetCallerIdentity", "sts", "", "Action=AssumeRole", true}, {"/?Action=GetCallerIdentity&Action=GetCallerIdentity", "sts", "", "", false},
                {"/", "sts", "", "Action=GetCallerIdentity", false}, {"/x", "sts", "", "Action=GetCallerIdentity", true}, {"/", "sts", "", "", true}, {"/", "sts", "", "Version=1", true},
                {"/", "sts", "", "Action=SomethingNew", true}, {"/", "sts", "S.AssumeRole", "{}", false}, {"/", "sts", "S.GetCallerIdentity", "Action=AssumeRole", true},
                {"/", "iam", "", "Action=CreateAccessKey&UserName=a", true}, {"/", "iam", "", "UserName=a", true}, {"/", "ec2", "", "Action=CreateKeyPair", true},
                {"/", "redshift", "", "x=1&Action=GetClusterCredentials", false}, {"/", "ecr", "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken", "{}", false},
                {"/service/S/operation/AssumeRole", "x", "", "", false}, {"/v1/authorization-token?domain=d", "codeartifact", "", "", false}, {"/?session", "s3", "", "", false},
                {"/?session=", "s3express", "", "", false}, {"/sessions", "rolesanywhere", "", "", false},
        };
        static const struct { const char *target, *service, *x_target, *body; bool form; } none[] = {
                {"/", "sts", "", "Action=GetCallerIdentity&Version=2011-06-15", true}, {"/?Action=GetCallerIdentity&Version=2011-06-15", "sts", "", "", false},
                {"/", "iam", "", "Action=ListUsers", true}, {"/", "dynamodb", "DynamoDB_20120810.ListTables", "{}", false}, {"/AssumeRole", "s3", "", "", false},
                {"/a/AssumeRole?action=x", "s3", "", "", false}, {"/v1/packages", "codeartifact", "", "", false}, {"/", "ecr", "A.DescribeRepositories", "{\"Action=AssumeRole\":1}", false},
                {"/", "ec2", "", "Action=DescribeInstances&Filter.1.Value=AssumeRole", true}, {"/", "sqs", "", "", false},
        };
        for (size_t i = 0; i < ELEMENTSOF(are); i++)
                if (!mints(are[i].target, are[i].service, are[i].x_target, are[i].body, are[i].form)) {
                        printf("# %s %s %s %s\n", are[i].target, are[i].service, are[i].x_target, are[i].body);
                        check(false);
                }
        for (size_t i = 0; i < ELEMENTSOF(none); i++)
                if (mints(none[i].target, none[i].service, none[i].x_target, none[i].body, none[i].form)) {
                        printf("# %s %s %s %s\n", none[i].target, none[i].service, none[i].x_target, none[i].body);
                        check(false);
                }
}

static struct secret *find(struct secret *s, size_t n, const char *name) {
        size_t at = secret_find(s, n, name);
        return at == SIZE_MAX ? NULL : &s[at];
}

TEST(parts_are_secrets_of_their_own) {
        struct secret *all = NULL;
        struct error e = {};
        size_t n = 0;

        struct secret *s = secret_add(&all, &n, "aws", &e);
        check(s && secret_parse_source("env:SECRET", s, &e) == 0 && secret_set_sigv4(s, &e) == 0);
        s->ttl = 5000;
        check((s->variable = strdup("WORK_AWS_SECRET_ACCESS_KEY")) != NULL);
        check(secret_sigv4_add_part(&all, &n, "aws", PART_KEY, "ABCDEFGHIJKLMNOP", &e) == 0 && secret_sigv4_add_part(&all, &n, "aws", PART_SESSION, "store:token", &e) == 0 && n == 3);
        s = find(all, n, "aws.key");
        check(s && s->place == SECRET_PART && s->source == SECRET_LITERAL && s->ttl == 5000 && secret_is_part_of(s, "aws") && !secret_is_part_of(s, "aw"));
        check_streq(s->from, "ABCDEFGHIJKLMNOP");
        check_streq(secret_variable(s), "WORK_AWS_ACCESS_KEY_ID");
        s = find(all, n, "aws.session");
        check(s && s->source == SECRET_STORE && secret_sigv4_part(all, n, "aws", PART_SESSION) == 2 && secret_sigv4_part(all, n, "other", PART_SESSION) == SIZE_MAX);
        check_streq(secret_variable(s), "WORK_AWS_SESSION_TOKEN");
        check(!secret_name_good("aws.key")); /* so that no rule names one */
        /* What is no id and no source is not quoted: it may be the value. */
        check(secret_sigv4_add_part(&all, &n, "aws", PART_SESSION, "ABCDEFGHIJKLMNOP", &e) == -EINVAL && !strstr(e.msg, "ABCDEF"));
        check(secret_sigv4_add_part(&all, &n, "none", PART_KEY, "env:A", &e) < 0);
        for (size_t i = 0; i < n; i++)
                secret_clear(&all[i]);
        free(all);
}

TAP_MAIN
