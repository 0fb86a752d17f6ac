#include "model/control.h"
#include "tap.h"

TEST(capabilities_as_text) {
        char text[CAPABILITIES_TEXT];
        check_streq(capabilities_format(text, 0), "none");
        check_streq(capabilities_format(text, 0xfb), "chown,dac_override,fowner,fsetid,kill,setgid,setuid");
        check_streq(capabilities_format(text, 1ull << 40 | 1ull << 63), "checkpoint_restore,63");
        check(capabilities_parse("none") == 0 && capabilities_parse("") == 0);
        check(capabilities_parse("chown,dac_override,fowner,fsetid,kill,setgid,setuid") == 0xfb);
        check(capabilities_parse("chow,chowns,setuid") == 1ull << 7);
        check(capabilities_parse(capabilities_format(text, (1ull << 41) - 1)) == (1ull << 41) - 1);
        check(strlen(capabilities_format(text, UINT64_MAX)) < CAPABILITIES_TEXT);
}

TEST(what_a_tier_requires) {
        check(control_required(control_find("seccomp"), TIER_PROCESS) && control_required(control_find("seccomp"), TIER_CONTAINER));
        check(!control_required(control_find("overlay"), TIER_PROCESS) && control_required(control_find("overlay"), TIER_CONTAINER));
        check(!control_find("none-such"));
}

TAP_MAIN
