/* What the host would run by itself, by its name. */
#include "model/guarded.h"
#include "tap.h"

static bool is_guarded(const char *path) {
        struct guarded g = {};
        bool yes = guarded_find(path, NULL, &g);
        check(!yes || (g.runs && g.runs[0]));
        return yes;
}

static bool is_git(const char *path) {
        struct guarded g = {};
        return guarded_find(path, NULL, &g) && g.never;
}

TEST(what_runs) {
        static const char *const t[] = {
                "Makefile", "src/GNUmakefile", "rules.mk", "package.json", "a/b/package-lock.json", "node_modules/x/index.js", "CMakeLists.txt", "meson.build",
                "configure", "setup.py", "pyproject.toml", "conftest.py", "tests/conftest.py", "lib/python3/site-packages/x.py", "evil.pth", ".venv/bin/python",
                "venv/bin/python", "__pycache__/a.cpython-311.pyc", "build.rs", "Cargo.toml", ".cargo/config.toml", "go.mod", ".envrc", ".env", ".env.local",
                ".github/workflows/ci.yml", ".gitlab-ci.yml", "Jenkinsfile", ".vscode/tasks.json", ".idea/x.xml", "x.code-workspace", ".devcontainer/devcontainer.json",
                ".claude/settings.json", "CLAUDE.md", "AGENTS.md", ".mcp.json", ".cursor/rules", ".cursorrules", "sub/.gemini/settings.json", ".codex/config.toml",
                ".bashrc", ".profile", ".zshenv", ".gdbinit", ".vimrc", ".ssh/config", ".gitmodules", ".gitattributes", ".husky/pre-commit", ".githooks/x",
                ".pre-commit-config.yaml", "sub/hooks/post-checkout", "bare/HEAD", "bare/config", "belljar.yaml", ".npmrc", ".yarnrc.yml", "vite.config.ts",
                "gradlew", "gradle/wrapper/gradle-wrapper.jar", "pom.xml", "Dockerfile", "Dockerfile.dev", "docker-compose.yml", "flake.nix", "shell.nix", "Gemfile",
                "Rakefile", "x.gemspec", "tox.ini", "sitecustomize.py", "requirements-dev.txt", "x.csproj", "Directory.Build.props", "x.desktop", "x.service",
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                if (!is_guarded(t[i]))
                        printf("# %s\n", t[i]);
                check(is_guarded(t[i]));
        }
}

TEST(in_any_spelling) {
        static const char *const t[] = {
                "MAKEFILE", "makefile", "PACKAGE.JSON", ".VSCode/tasks.json", ".Claude/settings.json", ".EnvRc", "Package.json.", "makefile ", ".vscode. ./x",
                "ma\xe2\x84\xaa" "efile",                 /* Kelvin's sign */
                ".v\xc5\xbf" "code/x",                    /* the long s */
                ".cl\xe2\x80\x8b" "aude/x",               /* a space of no width */
                "package\xef\xbb\xbf.json", "make\xc2\xad" "file",
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                if (!is_guarded(t[i]))
                        printf("# case %zu\n", i);
                check(is_guarded(t[i]));
        }
}

TEST(git) {
        static const char *const t[] = {
                ".git", ".git/config", ".git/hooks/pre-commit", ".GIT/config", ".Git", "sub/.git", "sub/.git/config", ".git./x", ".git /x", "GIT~1/config",
                ".g\xe2\x80\x8cit/config", "hooks/.git/x", "node_modules/a/.git/hooks/x", "\xe2\x80\x8d.git/x",
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++)
                check(is_git(t[i]));
        check(!is_git(".github/workflows/x.yml") && !is_git(".gitignore") && !is_git("git") && !is_git("x.git") && !is_git(".gitmodules"));
}

TEST(what_does_not) {
        static const char *const t[] = {
                "main.c", "src/lib.rs", "README.md", "docs/index.html", "x.py", "tests/test_x.py", "src/headers.h", "a/configurations", "makefiles/x.c", "data.json",
                "img.png", "LICENSE", "package.jsonx", "xpackage.json", ".gitignore", "environment.c", "src/profile.c", "\xff\xfe", "a\nb", "...", "-",
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                if (is_guarded(t[i]))
                        printf("# %s\n", t[i]);
                check(!is_guarded(t[i]));
        }
}

TEST(policy) {
        struct strlist more = {};
        struct guarded g = {};
        check(strlist_add(&more, "Deploy/**") == 0 && strlist_add(&more, "**/*.sql") == 0);
        check(guarded_find("deploy/x/y", &more, &g) && guarded_find("a/b.SQL", &more, &g) && !guarded_find("a/b.txt", &more, &g));
        strlist_clear(&more);
}

TEST(fold) {
        char *s = guarded_fold("A/B. ./.../C ");
        check_streq(s, "a/b/./c");
        free(s);
        s = guarded_fold("");
        check_streq(s, "");
        free(s);
}

TAP_MAIN
