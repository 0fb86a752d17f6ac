/* See guarded.h. */
#include <stdint.h>

#include "base/utf8.h"
#include "model/guarded.h"
#include "model/glob.h"

/* Patterns are of one name, or of a directory's and a name in it; * is any run of characters. With a slash at the end: the
 * directory, and everything beneath it. All in lower case. */
static const struct group {
        const char *runs, *patterns;
        bool never;
} groups[] = {
        /* A name of eight and three characters reaches .git on file systems that have such. */
        {"git, with every command", ".git/ git~1/", true},
        {"git, on a checkout or the next commit", ".gitmodules .gitattributes .gitconfig .lfsconfig hooks/ .githooks/ .husky/ "
         ".pre-commit-config.y*ml .pre-commit-hooks.y*ml lefthook*.y*ml .lefthook*/ .overcommit.yml .lintstagedrc* lint-staged.config.*", false},
        /* A directory with such a file is a repository of its own, with a configuration that names programs. */
        {"git, which takes the directory for a repository", "head commondir gitdir config config.worktree", false},
        {"make", "makefile gnumakefile bsdmakefile makefile.* *.mk *.mak", false},
        {"cmake", "cmakelists.txt *.cmake cmakepresets.json cmakeuserpresets.json", false},
        {"meson or ninja", "meson.build meson_options.txt meson.options *.ninja", false},
        {"autotools or a build by hand", "configure configure.* *.m4 autogen.sh bootstrap bootstrap.sh build.sh install.sh setup.sh", false},
        {"a build tool", "wscript sconstruct sconscript rakefile *.rake build.zig *.zon justfile .justfile *.just taskfile.y*ml magefile.go "
         "earthfile tiltfile procfile skaffold.yaml build workspace build.bazel workspace.bazel module.bazel *.bzl .bazelrc .buckconfig buck "
         "dune dune-project mix.exs rebar.config *.cabal setup.hs stack.yaml package.swift build.sbt *.sbt project.clj deps.edn build.boot *.nimble *.opam", false},
        {"npm, yarn, pnpm or bun, on install or run", "package.json package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb "
         ".npmrc .yarnrc* .yarn/ .pnp.* .pnpmfile.* pnpm-workspace.yaml bunfig.toml node_modules/ lerna.json nx.json turbo.json binding.gyp *.gyp *.gypi", false},
        {"a tool of JavaScript's, which runs its configuration", "*.config.js *.config.cjs *.config.mjs *.config.ts *.config.cts *.config.mts "
         ".babelrc* .eslintrc* .prettierrc* .stylelintrc* .mocharc* .nycrc* .postcssrc* .swcrc gruntfile.* gulpfile.* karma.conf.* jakefile* deno.json* deno.lock", false},
        {"cargo", "cargo.toml cargo.lock build.rs .cargo/ rust-toolchain rust-toolchain.toml", false},
        {"go", "go.mod go.sum go.work go.work.sum", false},
        {"pip or a build of Python's", "setup.py setup.cfg pyproject.toml requirements*.txt constraints*.txt poetry.lock pdm.lock uv.lock uv.toml pipfile "
         "pipfile.lock environment.y*ml hatch_build.py noxfile.py tox.ini manifest.in pip.conf .pip/ .pypirc fabfile.py tasks.py dodo.py", false},
        {"python, when it starts", "*.pth *.egg-link sitecustomize.py usercustomize.py site-packages/ dist-packages/ __pycache__/ *.pyc *.pyo .venv/ venv/ "
         "pyvenv.cfg .pythonrc* .pdbrc", false},
        {"a test run or a checker of Python's", "conftest.py pytest.ini .pytest.ini .coveragerc .pylintrc pylintrc mypy.ini .mypy.ini .flake8", false},
        {"ruby", "gemfile gemfile.lock gems.rb gems.locked *.gemspec .irbrc .pryrc .rspec .bundle/ .rubocop.yml .ruby-version", false},
        {"composer or php", "composer.json composer.lock .user.ini php.ini .htaccess auto_prepend*", false},
        {"gradle, maven or ant", "*.gradle *.gradle.kts gradle.properties gradlew* gradle/ gradle.lockfile pom.xml .mvn/ mvnw* build.xml ivy.xml", false},
        {"dotnet or msbuild", "*.csproj *.fsproj *.vbproj *.vcxproj* *.proj *.props *.targets *.sln *.slnx nuget.config global.json directory.build.* *.rsp", false},
        {"nix", "*.nix flake.lock", false},
        {"docker or a builder of images", "dockerfile* *.dockerfile containerfile* docker-compose*.y*ml docker-bake.* compose*.y*ml .dockerignore vagrantfile", false},
        {"a tool that sets up machines", "*.tf *.tfvars .terraform/ .terraformrc ansible.cfg pulumi*.y*ml serverless.y*ml helmfile.y*ml chart.yaml", false},
        {"the CI", ".github/ .gitlab-ci* .gitlab/ .circleci/ .travis.yml jenkinsfile* azure-pipelines* .azure* .drone.* .buildkite/ bitbucket-pipelines.yml "
         "appveyor.yml .appveyor.yml .woodpecker* .forgejo/ .gitea/ .cirrus.* .ci/ buildspec.y*ml cloudbuild.y*ml .semaphore/ .tekton/ .teamcity/ "
         "renovate.json* .renovaterc* netlify.toml vercel.json fly.toml render.yaml codecov.yml .codecov.yml action.y*ml", false},
        {"an editor that opens the folder", ".vscode/ .idea/ .fleet/ .zed/ .vs/ .nova/ .helix/ .theia/ .settings/ .project .classpath *.iml *.code-workspace "
         "*.sublime-project .devcontainer/ .devcontainer.json .vim/ .nvim/ .nvim.lua .nvimrc .vimrc .exrc .gvimrc .lvimrc .emacs .emacs.d/ .dir-locals*.el "
         ".clangd compile_flags.txt compile_commands.json .luarc.json .luacheckrc", false},
        {"an agent that works in the folder", ".claude/ .claude.json claude*.md agents*.md agent.md gemini.md qwen.md skill.md .mcp/ .mcp.json mcp.json .gemini/ .codex/ "
         ".cursor/ .cursorrules .cursorignore .windsurf/ .windsurfrules .aider* .continue/ .copilot/ copilot-instructions.md .clinerules/ .roo/ .roomodes "
         ".roorules* .kiro/ .amazonq/ .opencode/ opencode.json* .goose* .junie/ .augment* .qwen/ .crush* .trae/ .agents/ .agent/ .mcpb", false},
        {"belljar", "belljar.y*ml .belljar*", false},
        {"the shell", ".bashrc .bash_* .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .logout .inputrc .fishrc "
         "config.fish conf.d/ activate* .autoenv* .tmux.conf .screenrc .xinitrc .xprofile .xsession* bashrc zshrc profile", false},
        {"direnv, or what reads its environment from a file", ".envrc .env .env.* *.env .direnv/ .tool-versions mise*.toml .mise*.toml .mise/ .nvmrc .node-version "
         ".python-version .sdkmanrc", false},
        {"an interpreter or a debugger, when it starts", ".gdbinit .gdbearlyinit .lldbinit .rprofile .renviron .ghci .ocamlinit .psqlrc .sqliterc .octaverc "
         ".node_repl_history .perldb .jshellrc .radare2rc .irb_history .luarc .pry_history startup.m", false},
        {"a program that takes its settings from there", ".ssh/ .gnupg/ .config/ .local/ .netrc .curlrc .wgetrc .docker/ .kube/ .aws/ .subversion/ .hg/ .svn/ .bzr/ .hgrc", false},
        {"the desktop or the system", "*.desktop *.service *.timer *.socket *.path crontab .xbindkeysrc *.lnk *.url autorun.inf desktop.ini *.app/", false},
};

/* What file systems that fold names leave out of them (Unicode's Default_Ignorable_Code_Point, as far as it is of one character). */
static bool is_ignored(uint32_t cp) {
        return cp == 0xad || cp == 0x34f || cp == 0x61c || (cp >= 0x115f && cp <= 0x1160) || (cp >= 0x17b4 && cp <= 0x17b5) ||
               (cp >= 0x180b && cp <= 0x180f) || (cp >= 0x200b && cp <= 0x200f) || (cp >= 0x202a && cp <= 0x202e) ||
               (cp >= 0x2060 && cp <= 0x206f) || cp == 0x3164 || (cp >= 0xfe00 && cp <= 0xfe0f) || cp == 0xfeff || cp == 0xffa0 ||
               (cp >= 0xfff0 && cp <= 0xfff8) || (cp >= 0x1bca0 && cp <= 0x1bca3) || (cp >= 0x1d173 && cp <= 0x1d17a) ||
               (cp >= 0xe0000 && cp <= 0xe0fff);
}

/* vfat and its like do not see dots and blanks at the end of a name. */
static void trim(struct strbuf *b, size_t from) {
        while (b->len > from + 1 && (b->data[b->len - 1] == '.' || b->data[b->len - 1] == ' '))
                b->data[--b->len] = 0;
}

char *guarded_fold(const char *path) {
        _cleanup_strbuf_ struct strbuf b = {};
        size_t n = strlen(path), part = 0;

        for (size_t i = 0; i < n;) {
                uint32_t cp = 0;
                size_t k = utf8_decode(path + i, n - i, &cp);
                char c = k == 1 && path[i] >= 'A' && path[i] <= 'Z' ? (char)(path[i] + 32) : path[i];
                if (k > 1 && is_ignored(cp)) {
                        i += k;
                        continue;
                }
                if (cp == 0x17f && k == 2) /* two letters beyond ASCII fold into it: the long s, and Kelvin's sign */
                        strbuf_puts(&b, "s");
                else if (cp == 0x212a && k == 3)
                        strbuf_puts(&b, "k");
                else if (c == '/') {
                        trim(&b, part);
                        strbuf_puts(&b, "/");
                        part = b.len;
                } else if (k > 1)
                        strbuf_add(&b, path + i, k);
                else
                        strbuf_add(&b, &c, 1);
                i += MAX(k, 1u);
        }
        trim(&b, part);
        return strbuf_take(&b);
}

/* With * only. */
static bool matches(const char *p, size_t np, const char *s, size_t ns) {
        size_t i = 0, j = 0, star = SIZE_MAX, mark = 0;

        while (j < ns) {
                if (i < np && p[i] == '*') {
                        star = i++;
                        mark = j;
                } else if (i < np && p[i] == s[j]) {
                        i++;
                        j++;
                } else if (star != SIZE_MAX) {
                        i = star + 1;
                        j = ++mark;
                } else
                        return false;
        }
        while (i < np && p[i] == '*')
                i++;
        return i == np;
}

static bool in_group(const struct group *g, const char *name, size_t n, struct guarded *ret) {
        for (const char *p = g->patterns; *p; p += strspn(p, " ")) {
                size_t k = strcspn(p, " "), bare = k - (p[k - 1] == '/');
                if (matches(p, bare, name, n)) {
                        *ret = (struct guarded){.runs = g->runs, .never = g->never};
                        return true;
                }
                p += k;
        }
        return false;
}

bool guarded_find(const char *path, const struct strlist *more, struct guarded *ret) {
        _cleanup_free_ char *folded = guarded_fold(path);
        bool found = false;

        if (!folded) { /* closed */
                *ret = (struct guarded){.runs = "unknown: there is no memory to look"};
                return true;
        }
        /* A directory of such a name counts with all that it holds. Git's own comes before all others, wherever it stands. */
        for (const char *part = folded; *part;) {
                size_t n = strcspn(part, "/");
                for (size_t i = 0; n > 0 && i < ELEMENTSOF(groups); i++)
                        if ((groups[i].never || !found) && in_group(&groups[i], part, n, ret)) {
                                found = true;
                                if (groups[i].never)
                                        return true;
                        }
                part += n + (part[n] == '/');
        }
        if (found)
                return true;
        for (size_t i = 0; more && i < more->n; i++) {
                _cleanup_free_ char *pattern = guarded_fold(more->items[i]);
                if (!pattern || glob_match(pattern, folded) || glob_match(more->items[i], path)) {
                        *ret = (struct guarded){.runs = "what the policy guards it for"};
                        return true;
                }
        }
        return false;
}
