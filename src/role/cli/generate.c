/* Manual pages and shell completions, from the option table, and docs/tiers.md, from the table of risk; run by the build
 * (belljar-tool --generate ...). */
#include <stdio.h>
#include <string.h>

#include "model/risk.h"
#include "role/cli/options.h"

/* roff: a leading dot or quote would be a request, a backslash an escape, a dash a hyphen. */
static void roff(const char *s) {
        for (bool start = true; *s; start = *s == '\n', s++) {
                if (start && (*s == '.' || *s == '\''))
                        printf("\\&");
                if (*s == '\\')
                        printf("\\e");
                else if (*s == '-')
                        printf("\\-");
                else if (s[0] == '\n' && s[1] == '\n') {
                        printf("\n.PP\n");
                        s++;
                } else
                        putchar(*s);
        }
}

static void man_option(const struct option_spec *o) {
        printf(".TP\n.B ");
        if (o->letter)
                printf("\\-%c\\fR, \\fB", o->letter);
        printf("\\-\\-");
        roff(o->name);
        if (o->arg) {
                printf("\\fR \\fI");
                roff(o->arg);
                printf("\\fR");
        }
        printf("\n");
        roff(o->help);
        printf("\n");
}

static int man(const char *name) {
        const struct command_spec *c = name && !streq(name, "belljar") ? command_find(name) : NULL;

        if (name && !streq(name, "belljar") && !c)
                return -EINVAL;
        if (!c) {
                printf(".TH BELLJAR 1 \"\" \"belljar " VERSION "\"\n.SH NAME\nbelljar \\- sandbox for what AI agents decide to run\n"
                       ".SH SYNOPSIS\n.B belljar\n\\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIARG\\fR...]\n.SH COMMANDS\n");
                for (size_t i = 0; i < COMMAND_N; i++) {
                        printf(".TP\n.B %s\n", command_table[i].name);
                        roff(command_table[i].summary);
                        printf("; see \\fBbelljar\\-%s\\fR(1)\n", command_table[i].name);
                }
        } else {
                printf(".TH BELLJAR\\-%s 1 \"\" \"belljar " VERSION "\"\n.SH NAME\nbelljar\\-%s \\- ", c->name, c->name);
                roff(c->summary);
                printf("\n.SH SYNOPSIS\n.B belljar %s\n", c->name);
                roff(c->args);
                printf("\n.SH DESCRIPTION\n");
                roff(c->description);
                printf("\n.SH OPTIONS\n");
                for (size_t i = 0; i < option_count; i++)
                        if (option_table[i].commands & 1u << c->id)
                                man_option(&option_table[i]);
        }
        printf(".SH EXIT STATUS\nThe command's own for \\fBbelljar run\\fR; 123 when a limit other than time ended it, 124 for a time limit, "
               "125 for a failure of Belljar's own or wrong use, 126 and 127 as a shell has them, 128+N for a signal.\n"
               ".SH SEE ALSO\n");
        if (c)
                printf(".BR belljar (1), ");
        printf(".BR belljar\\-run (1), .BR belljar\\-inspect (1), .BR belljar\\-doctor (1)\n");
        return 0;
}

static void bash(void) {
        printf("# bash completion for belljar\n_belljar() {\n  local cur=\"${COMP_WORDS[COMP_CWORD]}\"\n"
               "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W \"");
        for (size_t i = 0; i < COMMAND_N; i++)
                printf("%s%s", i ? " " : "", command_table[i].name);
        printf("\" -- \"$cur\"))\n    return\n  fi\n  case \"${COMP_WORDS[1]}\" in\n");
        for (size_t i = 0; i < COMMAND_N; i++) {
                printf("    %s) [[ \"$cur\" == -* ]] && COMPREPLY=($(compgen -W \"", command_table[i].name);
                for (size_t k = 0, n = 0; k < option_count; k++)
                        if (option_table[k].commands & 1u << command_table[i].id)
                                printf("%s--%s", n++ ? " " : "", option_table[k].name);
                printf("\" -- \"$cur\"));;\n");
        }
        printf("  esac\n  [[ ${#COMPREPLY[@]} -gt 0 ]] || COMPREPLY=($(compgen -f -- \"$cur\"))\n}\ncomplete -F _belljar belljar\n");
}

static void zsh(void) {
        printf("#compdef belljar\n_belljar() {\n  local -a commands\n  commands=(\n");
        for (size_t i = 0; i < COMMAND_N; i++)
                printf("    '%s:%s'\n", command_table[i].name, command_table[i].summary);
        printf("  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n  case ${words[2]} in\n");
        for (size_t i = 0; i < COMMAND_N; i++) {
                printf("    %s)\n      _arguments", command_table[i].name);
                for (size_t k = 0; k < option_count; k++) {
                        const struct option_spec *o = &option_table[k];
                        if (!(o->commands & 1u << command_table[i].id))
                                continue;
                        printf(" '--%s[", o->name);
                        for (const char *s = o->help; *s; s++) /* quotes, brackets and colons have a meaning there */
                                if (!strchr("'[]:", *s))
                                        putchar(*s);
                        printf("]%s'", o->arg ? ":value:_files" : "");
                }
                printf(" '*:file:_files';;\n");
        }
        printf("  esac\n}\n_belljar \"$@\"\n");
}

static void fish(void) {
        for (size_t i = 0; i < COMMAND_N; i++) {
                printf("complete -c belljar -n __fish_use_subcommand -a %s -d \"%s\"\n", command_table[i].name, command_table[i].summary);
                for (size_t k = 0; k < option_count; k++) {
                        const struct option_spec *o = &option_table[k];
                        if (!(o->commands & 1u << command_table[i].id))
                                continue;
                        printf("complete -c belljar -n '__fish_seen_subcommand_from %s' -l %s%s -d \"%s\"\n", command_table[i].name, o->name,
                               o->arg ? " -r" : "", o->help);
                }
        }
}

int options_generate(const char *what, const char *command) {
        if (streq(what, "man"))
                return man(command);
        if (streq(what, "bash"))
                bash();
        else if (streq(what, "zsh"))
                zsh();
        else if (streq(what, "fish"))
                fish();
        else if (streq(what, "tiers")) {
                _cleanup_free_ char *doc = risk_doc();
                if (!doc)
                        return -ENOMEM;
                fputs(doc, stdout);
        } else
                return -EINVAL;
        return 0;
}
