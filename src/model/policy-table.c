/* The table of a policy's keys and the look-up in it; see policy-table.h. */
#include <string.h>

#include "model/policy-table.h"

/* In the order of the enums of policy.h. */
const char *const tier_choices[] = {"auto", "process", "container", "microvm", "vm", NULL};
const char *const trust_choices[] = {"unknown", "reviewed", "own", NULL};
const char *const nesting_choices[] = {"none", "userns", NULL};
const char *const trace_choices[] = {"off", "exec", NULL};
const char *const workspace_mode_choices[] = {"cow", "rw", "ro", NULL};
const char *const volume_mode_choices[] = {"ro", "rw", NULL};
const char *const git_access_choices[] = {"read", "write", NULL};

#define FIELD(f) .field = offsetof(struct policy, f)
#define PLACE(f) .place = offsetof(struct policy, places.f)
#define KIB 1024ull
#define LARGEST_SIZE (1ull << 50)
#define LARGEST_TIME (3650ull * 86400000) /* ten years; far below where timers overflow */

const struct policy_key policy_keys[] = {
        {"version", KEY_VERSION, .required = true,
         .doc = "The version of this file's format. Always 1."},
        {"tier", KEY_CHOICE, FIELD(tier), PLACE(tier), .choices = tier_choices,
         .doc = "Where the run is held. auto chooses by risk and says why."},
        {"min_tier", KEY_CHOICE, FIELD(min_tier), PLACE(min_tier), .choices = tier_choices + 1,
         .doc = "The weakest tier that this run may have: auto never goes below it, and a tier below it is an error. "
                "process is no minimum."},
        {"trust", KEY_CHOICE, FIELD(trust), .choices = trust_choices,
         .doc = "Who wrote what runs here: you (own), somebody whose code was read (reviewed), or unknown."},
        {"image", KEY_IMAGE, FIELD(image), PLACE(image), .unset = "the host's own programs",
         .doc = "The image that the run has for its root, as [REGISTRY/]NAME[:TAG][@sha256:DIGEST]."},
        {"user", KEY_USER, FIELD(user), PLACE(user), .unset = "the image's",
         .doc = "Who the run is inside an image: USER or USER:GROUP, each a name of the image or a number."},
        {"entrypoint", KEY_WORDS, FIELD(entrypoint), PLACE(entrypoint), .unset = "the image's",
         .doc = "The program that the command is handed to, with its first arguments, in place of the image's. An "
                "empty list is none."},
        {"workdir", KEY_WORKDIR, FIELD(workdir), PLACE(workdir),
         .unset = "where the caller stands, in the workspace; in an image its own",
         .doc = "The directory that the run starts in, as seen inside. A relative one begins at the workspace."},
        {"files", KEY_SECTION,
         .doc = "What the run sees of the host's files."},
        {"files.workspace", KEY_SECTION,
         .doc = "The directory that the run works in."},
        {"files.workspace.path", KEY_PATH, FIELD(workspace.path), .unset = "the working directory, or what name says",
         .doc = "The workspace's path. ~ is allowed; a relative path begins at this file's directory."},
        {"files.workspace.name", KEY_NAME, FIELD(workspace.name), PLACE(name), .unset = "a directory of the host",
         .doc = "The name of a workspace that Belljar keeps, and that outlives runs; in place of a path."},
        {"files.workspace.mode", KEY_CHOICE, FIELD(workspace.mode), PLACE(mode), .choices = workspace_mode_choices,
         .doc = "cow keeps changes apart for review, rw writes them through, ro refuses them. With a name rw is the "
                "default."},
        {"files.workspace.inside", KEY_INSIDE, FIELD(workspace.inside), PLACE(inside), .unset = POLICY_WORKSPACE_INSIDE,
         .doc = "Where the workspace stands in an image's root."},
        {"files.read", KEY_PATHS, FIELD(read), .unset = "nothing more",
         .doc = "Paths of the host that the run sees read-only besides the system's own. Relative ones begin at this file's "
                "directory."},
        {"files.hide", KEY_GLOBS, FIELD(hide), .unset = "nothing more",
         .doc = "Paths or patterns that the run does not see. Relative ones begin at the workspace; **/NAME is NAME at "
                "any depth."},
        {"guarded", KEY_GLOBS, FIELD(guarded), .unset = "what the host's tools run by themselves",
         .doc = "Patterns of paths in the workspace that belljar apply guards beyond those that it always does: each is shown and "
                "wants a yes of its own. Relative to the workspace, in any letter case; **/NAME is NAME at any depth."},
        {"volumes", KEY_VOLUMES, .unset = "none",
         .doc = "Files and directories of the host that stand at another place inside; HOST:INSIDE[:ro|rw] is short for "
                "a mapping."},
        {"volumes.host", KEY_PATH, .required = true,
         .doc = "The path on the host. ~ is allowed; a relative path begins at this file's directory. It must exist."},
        {"volumes.inside", KEY_INSIDE, .required = true,
         .doc = "Where it stands inside: an absolute path."},
        {"volumes.mode", KEY_CHOICE, .choices = volume_mode_choices,
         .doc = "ro refuses writes, rw lets them through to the host."},
        {"use", KEY_USE, FIELD(use), .unset = "none",
         .doc = "Recipes for harnesses, and presets that have no parameters, whose words stand here as well where the "
                "policy has none of its own."},
        {"env", KEY_ENV, FIELD(env), .unset = "only what describes the caller's terminal, language and search path",
         .doc = "Variables of the run. A value is taken as it is written; null takes the caller's."},
        {"limits", KEY_SECTION,
         .doc = "What the run may use up, all its processes together. A limit that is written here is held, or the run "
                "does not start."},
        {"limits.memory", KEY_SIZE, FIELD(limits.memory), 4096 * KIB, LARGEST_SIZE,
         .doc = "Memory: a size such as 2GiB, or bytes."},
        {"limits.cpu", KEY_CPU, FIELD(limits.cpu), 10, 1024000,
         .doc = "Processors: 2, or 0.5 for half of one."},
        {"limits.pids", KEY_COUNT, FIELD(limits.pids), 1, 4194304, .unset = "4096",
         .doc = "Processes and threads at once."},
        {"limits.disk", KEY_SIZE, FIELD(limits.disk), 64 * KIB, LARGEST_SIZE,
         .doc = "What the run may add to the disk: a size such as 4GiB, or bytes."},
        {"limits.output", KEY_SIZE, FIELD(limits.output), 1, LARGEST_SIZE,
         .doc = "What the run may print on stdout and stderr together: a size such as 64MiB, or bytes."},
        {"limits.time", KEY_DURATION, FIELD(limits.time), 100, LARGEST_TIME,
         .doc = "Wall time: a duration such as 30m or 1h30m, or seconds."},
        {"limits.idle", KEY_DURATION, FIELD(limits.idle), 100, LARGEST_TIME,
         .doc = "Time without use of the processor and without terminal traffic: a duration, or seconds."},
        {"nesting", KEY_CHOICE, FIELD(nesting), .choices = nesting_choices,
         .doc = "Whether the run may make sandboxes of its own: userns lets it make user namespaces and mounts within what it "
                "sees, which is weaker: Landlock does not hold its files, and more of the kernel is in its reach."},
        {"trace", KEY_CHOICE, FIELD(trace), .choices = trace_choices,
         .doc = "What of its processes the trail has: off, nothing; exec, every program that is executed, by path and arguments as "
                "claimed and by the file as the kernel has it, and its end."},
        {"without", KEY_NAMES, FIELD(without), .unset = "every control of the tier",
         .doc = "Controls that this run knowingly goes without, by name."},
        {"network", KEY_NETWORK, .unset = "nothing is reached",
         .doc = "What the run may reach: rules without an order. A request passes when a rule allows it and none denies it."},
        {"network.host", KEY_HOST,
         .doc = "A name, *.NAME for one label in front of it, **.NAME for any number of them, ** for every name; or an "
                "address, or a range of them. Required, but beside use."},
        {"network.port", KEY_PORT, .unset = "443, or 80 with protocol http; for a rule that denies every port",
         .doc = "A port, a range such as 8000-8010, or a list of them."},
        {"network.protocol", KEY_PROTOCOL, .unset = "https where a key looks at requests; else tls on port 443, tcp on others",
         .doc = "tcp and tls pass unread, tls only where its SNI is the host. http and https are read, request by request."},
        {"network.methods", KEY_TEXTS, .unset = "GET and HEAD; for a rule that denies any",
         .doc = "Methods of HTTP; \"*\" is any."},
        {"network.paths", KEY_TEXTS, .unset = "any path",
         .doc = "Patterns of whole paths: * stands for any bytes within a segment, ** for any number of segments."},
        {"network.query", KEY_QUERY, .unset = "no query at all",
         .doc = "The keys that a query may have, as a list; or as a mapping of each to a pattern of its value, or to null "
                "for any. [\"*\"] is any query. For a rule that denies: the keys that make it match."},
        {"network.headers", KEY_SECTION,
         .doc = "How much a request's headers may hold."},
        {"network.headers.count", KEY_NUMBER, .min = 1, .max = 256, .unset = "64",
         .doc = "Fields of a request at most."},
        {"network.headers.bytes", KEY_BYTES, .min = 64, .max = 64 * KIB, .unset = "16 KiB",
         .doc = "Bytes of names and values together at most."},
        {"network.body", KEY_BYTES, .min = 0, .max = LARGEST_SIZE,
         .unset = "none for GET, HEAD, OPTIONS, TRACE and DELETE, any for other methods",
         .doc = "Bytes of a request's body at most."},
        {"network.shapes", KEY_SHAPES, .unset = "none",
         .doc = "Forms of payload that a request must not have in its path and query."},
        {"network.websocket", KEY_BOOL, .unset = "false",
         .doc = "Whether a request may open a WebSocket, whose bytes then pass unread."},
        {"network.budget", KEY_SECTION,
         .doc = "What all requests and connections of the rule together may use up."},
        {"network.budget.up", KEY_BYTES, .min = 1, .max = LARGEST_SIZE, .unset = "any number",
         .doc = "Bytes that are sent."},
        {"network.budget.down", KEY_BYTES, .min = 1, .max = LARGEST_SIZE, .unset = "any number",
         .doc = "Bytes that are received."},
        {"network.budget.requests", KEY_NUMBER, .min = 1, .max = LARGEST_SIZE, .unset = "any number",
         .doc = "Requests."},
        {"network.budget.url", KEY_BYTES, .min = 1, .max = LARGEST_SIZE, .unset = "any number",
         .doc = "Bytes of paths and queries."},
        {"network.budget.hosts", KEY_NUMBER, .min = 1, .max = LARGEST_SIZE, .unset = "any number",
         .doc = "Different hosts."},
        {"network.budget.subdomains", KEY_NUMBER, .min = 1, .max = LARGEST_SIZE, .unset = "any number",
         .doc = "Different names beneath the wildcard's."},
        {"network.budget.novel", KEY_NUMBER, .min = 1, .max = LARGEST_SIZE, .unset = "none",
         .doc = "Of a rule with provenance: bits of URLs that nobody gave, 8 for each byte that is new and 8 for its end."},
        {"network.provenance", KEY_BOOL, .unset = "false",
         .doc = "Whether only URLs pass that the user, the policy or an earlier response gave."},
        {"network.addresses", KEY_TEXTS, .unset = "public addresses",
         .doc = "Addresses and ranges that the host may have though they are not public."},
        {"network.secret", KEY_SECRET, .unset = "none",
         .doc = "The name of the secret that requests are given on their way."},
        {"network.to", KEY_ORIGIN, .unset = "the host itself",
         .doc = "The origin, http or https, that the requests are sent to in place of the host: http://127.0.0.1:11434."},
        {"network.models", KEY_TEXTS, .unset = "any",
         .doc = "Patterns, one of which the model fits that a request's body of JSON has to name; methods are POST then, where none are "
                "written."},
        {"network.use", KEY_PRESET,
         .doc = "The name of a preset, whose rules stand here then."},
        {"network.repo", KEY_PARAMETER, .doc = "For presets that ask for it: OWNER/NAME."},
        {"network.region", KEY_PARAMETER, .doc = "For presets that ask for it: the provider's region."},
        {"network.resource", KEY_PARAMETER, .doc = "For presets that ask for it: the name of the provider's resource."},
        {"network.deny", KEY_BOOL, .unset = "false",
         .doc = "Whether the rule denies what it matches."},
        {"network.quiet", KEY_BOOL, .unset = "false",
         .doc = "Of a rule that denies: without a word, and without counting as an alarm."},
        {"quiet", KEY_PLACES, .unset = "none",
         .doc = "Hosts, each with or without a port, that are refused without a word and without counting as an alarm."},
        {"budget", KEY_SECTION,
         .doc = "What the whole run may use up of the network, all its rules together."},
        {"budget.up", KEY_BYTES, FIELD(network.run.up), .min = 1, .max = LARGEST_SIZE, .unset = "any number",
         .doc = "Bytes that are sent."},
        {"budget.down", KEY_BYTES, FIELD(network.run.down), .min = 1, .max = LARGEST_SIZE, .unset = "any number",
         .doc = "Bytes that are received."},
        {"budget.requests", KEY_NUMBER, FIELD(network.run.requests), .min = 1, .max = LARGEST_SIZE, .unset = "any number",
         .doc = "Requests that are read."},
        {"budget.url", KEY_BYTES, FIELD(network.run.url), .min = 1, .max = LARGEST_SIZE, .unset = "any number",
         .doc = "Bytes of paths and queries."},
        {"budget.hosts", KEY_NUMBER, FIELD(network.run.hosts), .min = 1, .max = LARGEST_SIZE, .unset = "any number",
         .doc = "Different hosts."},
        {"budget.subdomains", KEY_NUMBER, FIELD(network.run.subdomains), .min = 1, .max = LARGEST_SIZE, .unset = "any number",
         .doc = "Different names beneath the names of wildcards."},
        {"budget.novel", KEY_NUMBER, FIELD(network.run.novel), .min = 1, .max = LARGEST_SIZE, .unset = "what the rules say",
         .doc = "Bits of URLs that nobody gave, of rules with provenance."},
        {"given", KEY_URLS, .unset = "none",
         .doc = "URLs that rules with provenance let pass from the start, beside those that the command's own words name."},
        {"secrets", KEY_SECRETS, .unset = "none",
         .doc = "Credentials that requests are given on their way out, by name. Their values never enter the sandbox."},
        {"secrets.from", KEY_SECRET_TEXT, .required = true,
         .doc = "Where it comes from: env:NAME, file:PATH, command:WORDS, keyring:DESCRIPTION or store:NAME."},
        {"secrets.header", KEY_SECRET_TEXT, .unset = "whichever field has the placeholder",
         .doc = "The header field that it goes into, with {} in its place."},
        {"secrets.basic", KEY_SECRET_TEXT, .unset = "whichever field has the placeholder",
         .doc = "The user name beside which it goes into Authorization: Basic."},
        {"secrets.query", KEY_SECRET_TEXT, .unset = "whichever field has the placeholder",
         .doc = "The key of the query that it goes into."},
        {"secrets.body", KEY_SECRET_TEXT, .unset = "whichever field has the placeholder",
         .doc = "The field of a JSON body (keys with dots between them) or of a form whose whole value is the placeholder."},
        {"secrets.sigv4", KEY_SECTION,
         .doc = "That AWS requests are signed with it, where a client inside has signed them with its placeholder."},
        {"secrets.sigv4.key", KEY_SECRET_TEXT, .required = true,
         .doc = "The access key id: where it comes from, as from, or the id itself."},
        {"secrets.sigv4.session", KEY_SECRET_TEXT, .unset = "the credentials are not temporary",
         .doc = "Where the session token of temporary credentials comes from, as from."},
        {"secrets.sigv4.services", KEY_TEXTS, .unset = "the service that the host's name says",
         .doc = "The services that requests may be signed for."},
        {"secrets.sigv4.regions", KEY_TEXTS, .unset = "the region that the host's name says",
         .doc = "The regions that requests may be signed for."},
        {"secrets.sigv4.allow", KEY_TEXTS, .unset = "neither",
         .doc = "mint: requests that are answered with new credentials. copy: requests that name another object to copy from."},
        {"secrets.env", KEY_SECRET_TEXT, .unset = "the variable that it comes from, if it does; with sigv4 AWS_SECRET_ACCESS_KEY",
         .doc = "The variable that has the placeholder inside."},
        {"secrets.ttl", KEY_DURATION, .min = 1, .max = LARGEST_TIME, .unset = "the run's time",
         .doc = "How long it can be used, from the start of the run."},
        {"secrets.uses", KEY_NUMBER, .min = 1, .max = LARGEST_SIZE, .unset = "any number",
         .doc = "How many requests may carry it."},
        {"secrets.addresses", KEY_TEXTS, .unset = "public ones only",
         .doc = "Addresses that are not public and that the provider may have, which is asked for the token or what it may do."},
        {"secrets.oauth2", KEY_MINT, .unset = "what from names is the secret itself",
         .doc = "A token that is asked for at the start of the run, by OAuth 2, with what from names: a client secret or a refresh token."},
        {"secrets.oauth2.token_url", KEY_MINT_TEXT, .required = true, .doc = "The token endpoint, an https:// address."},
        {"secrets.oauth2.client_id", KEY_MINT_TEXT, .required = true, .doc = "Who asks."},
        {"secrets.oauth2.grant", KEY_MINT_TEXT, .unset = "client_credentials", .doc = "client_credentials or refresh_token."},
        {"secrets.oauth2.client_secret", KEY_MINT_TEXT, .unset = "none",
         .doc = "With grant refresh_token: where the client secret comes from, as from does."},
        {"secrets.oauth2.auth", KEY_MINT_TEXT, .unset = "basic", .doc = "How the client secret is sent: basic or body."},
        {"secrets.oauth2.scope", KEY_MINT_TEXT, .unset = "what the provider gives", .doc = "What is asked for, names separated by blanks."},
        {"secrets.oauth2.audience", KEY_MINT_TEXT, .unset = "none", .doc = "Whom the token is for, where the provider wants it said."},
        {"secrets.oauth2.revoke_url", KEY_MINT_TEXT, .unset = "the token is not revoked at the end, and expires by itself",
         .doc = "The revocation endpoint, an https:// address."},
        {"secrets.github_app", KEY_MINT, .unset = "what from names is the secret itself",
         .doc = "An installation token of a GitHub App, which is asked for at the start of the run with the App's private key, which from names."},
        {"secrets.github_app.app_id", KEY_MINT_TEXT, .required = true, .doc = "The App's number."},
        {"secrets.github_app.installation_id", KEY_MINT_TEXT, .required = true, .doc = "The number of its installation."},
        {"secrets.github_app.repositories", KEY_TEXTS, .required = true, .doc = "The repositories that the token is for, without their owner."},
        {"secrets.github_app.permissions", KEY_MINT_MAP, .unset = "what the rules with this secret need",
         .doc = "What the token may do: names with read, write or admin."},
        {"secrets.github_app.api", KEY_MINT_TEXT, .unset = "https://api.github.com", .doc = "The root of the API, of a GitHub server of your own."},
        {"git_ssh", KEY_GIT_SSH, .unset = "none",
         .doc = "Repositories that git reaches by ssh, which runs outside: neither the key nor the agent is in the sandbox."},
        {"git_ssh.host", KEY_HOST, .required = true,
         .doc = "The server's name or address. A rule for unread connections to it is part of the entry."},
        {"git_ssh.user", KEY_GIT_TEXT, .unset = "git",
         .doc = "The user that ssh logs in as."},
        {"git_ssh.port", KEY_NUMBER, .min = 1, .max = 65535, .unset = "22",
         .doc = "The server's port."},
        {"git_ssh.repositories", KEY_TEXTS, .required = true,
         .doc = "Repositories, as paths with * for any bytes within one segment. .git at the end makes no difference."},
        {"git_ssh.access", KEY_CHOICE, .choices = git_access_choices,
         .doc = "read lets clone and fetch through, write push as well."},
        {"git_ssh.key", KEY_GIT_TEXT, .unset = "agent",
         .doc = "The key that ssh logs in with: agent for those of the caller's ssh agent, or file:PATH."},
        {"git_ssh.public_key", KEY_GIT_TEXT, .unset = "any that the agent has",
         .doc = "Of the agent's keys the one to use, as its .pub file has it."},
        {"git_ssh.known_hosts", KEY_PATH, .unset = "the caller's own",
         .doc = "A file with the server's key. One that is not known is refused."},
        {"git_ssh.addresses", KEY_TEXTS, .unset = "public addresses",
         .doc = "Addresses that are not public and that the name may have nevertheless."},
        {"sign", KEY_SIGN, .unset = "nothing is signed",
         .doc = "Signatures of git by ssh keys, made outside: neither the key nor the agent is in the sandbox."},
        {"sign.commits", KEY_BOOL, .unset = "true",
         .doc = "Commits are signed."},
        {"sign.tags", KEY_BOOL, .unset = "false",
         .doc = "Tags are signed."},
        {"sign.key", KEY_GIT_TEXT, .unset = "agent",
         .doc = "The key that signs: agent for the one of the caller's ssh agent that public_key names, or file:PATH."},
        {"sign.public_key", KEY_GIT_TEXT, .unset = "what stands beside the key's file, in .pub",
         .doc = "The public part of the key, as its .pub file has it."},
        {"sign.as", KEY_GIT_TEXT, .unset = "anybody",
         .doc = "The only committer or tagger that is signed for: NAME <MAIL>, or <MAIL> with whatever name."},
        {"tripwires", KEY_TRIPWIRES, .unset = "those of docs/stop.md",
         .doc = "What is an alarm, and what is done then. An entry takes the place of the default for its event."},
        {"tripwires.on", KEY_TRIP_WORD, .choices = trip_on_names, .required = true,
         .doc = "The event: something refused, refused and then tried by another way, a placeholder where it does not belong, a budget that is "
                "spent, a form of payload that a rule refuses."},
        {"tripwires.count", KEY_NUMBER, .min = 1, .max = TRIP_COUNT_MAX, .unset = "1",
         .doc = "How many of them ring."},
        {"tripwires.within", KEY_DURATION, .min = 1, .max = 86400000, .unset = "1m",
         .doc = "Within which time: a duration such as 1m, or seconds."},
        {"tripwires.distinct", KEY_BOOL, .unset = "false",
         .doc = "Whether the same goal, however often, counts once."},
        {"tripwires.do", KEY_TRIP_WORD, .choices = trip_do_names, .unset = "kill",
         .doc = "warn says so; cut ends network and credentials; hold cuts and freezes until belljar release; kill cuts and ends the run; off is no tripwire for the event."},
        {"checks", KEY_LATER},
};
const size_t n_policy_keys = ELEMENTSOF(policy_keys);

const char *policy_key_leaf(const struct policy_key *k) {
        const char *dot = strrchr(k->name, '.');
        return dot ? dot + 1 : k->name;
}

bool policy_key_within(const struct policy_key *k, const struct policy_key *parent) {
        const char *leaf = policy_key_leaf(k);
        size_t n = parent ? strlen(parent->name) + 1 : 0;
        return (size_t)(leaf - k->name) == n && (n == 0 || strncmp(k->name, parent->name, n - 1) == 0);
}

const struct policy_key *policy_key_find(const struct policy_key *parent, const char *leaf) {
        for (size_t i = 0; i < n_policy_keys; i++)
                if (policy_key_within(&policy_keys[i], parent) && streq(policy_key_leaf(&policy_keys[i]), leaf))
                        return &policy_keys[i];
        return NULL;
}

const struct limit *policy_limit_of(const struct policy *p, const struct policy_key *k) {
        bool is = k->field > 0 && (k->type == KEY_SIZE || k->type == KEY_CPU || k->type == KEY_COUNT || k->type == KEY_DURATION);
        return is ? (const struct limit *)((const char *)p + k->field) : NULL;
}

#define NEAREST_MAX 24 /* bytes; no key is as long */

/* How many characters are to be added, taken away, changed or swapped with their neighbour. */
static size_t distance(const char *a, const char *b) {
        size_t d[NEAREST_MAX + 1][NEAREST_MAX + 1], n = strlen(a), m = strlen(b);

        if (n > NEAREST_MAX || m > NEAREST_MAX)
                return SIZE_MAX;
        for (size_t i = 0; i <= n; i++)
                d[i][0] = i;
        for (size_t j = 0; j <= m; j++)
                d[0][j] = j;
        for (size_t i = 1; i <= n; i++)
                for (size_t j = 1; j <= m; j++) {
                        size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
                        best = MIN(best, MIN(d[i - 1][j], d[i][j - 1]) + 1);
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                best = MIN(best, d[i - 2][j - 2] + 1);
                        d[i][j] = best;
                }
        return d[n][m];
}

const struct policy_key *policy_key_nearest(const struct policy_key *parent, const char *leaf) {
        const struct policy_key *best = NULL;
        size_t least = SIZE_MAX;

        /* The right word in the wrong place comes before a similar word in the right one, and that before the rest. */
        for (size_t i = 0; i < n_policy_keys; i++) {
                const struct policy_key *k = &policy_keys[i];
                size_t d = k->type == KEY_LATER ? SIZE_MAX : distance(leaf, policy_key_leaf(k)), score;
                if (d > 2 || d * 2 > strlen(leaf))
                        continue;
                score = d * 2 + !policy_key_within(k, parent);
                if (score < least) {
                        least = score;
                        best = k;
                }
        }
        return best;
}
