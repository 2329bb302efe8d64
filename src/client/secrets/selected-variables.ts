import { fitsAny } from "../../domain/sync/sync-options.ts";
import type { Environment } from "../../runtime/options.ts";
import type { PlainValues } from "../../tokens/shared-values.ts";
import { isVariableName, isVariableValue, type Variable } from "./values.ts";

/** Which values become variables. */
export interface VariableFlags {
  /** Data keys that were named; empty for all. */
  readonly only: readonly string[];
  /** Text before each data key. */
  readonly prefix: string | undefined;
}

/** The variables, and a sentence for each reason why values are left out. */
interface SelectedVariables {
  readonly variables: readonly Variable[];
  readonly leftOut: readonly string[];
}

/** Why a value is no variable; all but the first can be overruled with `--only`. */
const reasons = {
  impossible: "a variable needs a name of letters, digits and _, and text without NUL bytes",
  dangerous: "such a variable can make programs run other code or trust other servers",
  taken: "your environment has a variable of this name",
  unusual: "without --only and --prefix, a name must be upper case, such as DB_PASSWORD",
} as const;

type Reason = keyof typeof reasons;

/**
 * Selects the variables of a program. Who may change a SharedSecret could use some variables
 * against the user who runs a program with it, so they have to be named.
 */
export function selectedVariables(
  values: PlainValues,
  flags: VariableFlags,
  env: Environment,
): SelectedVariables {
  const { prefix = "" } = flags;
  const candidates = [...values].map(([key, bytes]) => {
    const name = prefix + key;
    const fits = isVariableName(name) && isVariableValue(bytes);
    return { key, name, bytes, reason: fits ? reasonAgainst(name, flags, env) : "impossible" };
  });
  const taken = candidates.filter(({ reason }) => reason === undefined);
  const leftOut = Object.entries(reasons).flatMap(([reason, why]) => {
    const found = candidates.filter((one) => one.reason === reason);
    if (found.length === 0) return [];
    const names = found.map(({ name }) => name).join(", ");
    const advice = reason === "impossible" ? "" : `; to take it, set ${onlyFlags(found)}`;
    return [`left out ${names}: ${why}${advice}`];
  });
  const isAdvised = candidates.some(({ reason = "impossible" }) => reason !== "impossible");
  const others = `--only takes nothing else; what is taken now is ${onlyFlags(taken)}`;
  return {
    variables: taken.map(({ name, bytes }) => [name, bytes.toString("utf8")]),
    leftOut: isAdvised && taken.length > 0 ? [...leftOut, others] : leftOut,
  };
}

/** Data keys have no character that a shell would read (crds/sharedsecrets.yaml). */
function onlyFlags(found: readonly { readonly key: string }[]): string {
  return found.map(({ key }) => `--only=${key}`).join(" ");
}

function reasonAgainst(
  name: string,
  { only, prefix }: VariableFlags,
  env: Environment,
): Reason | undefined {
  if (only.length > 0) return undefined;
  if (isDangerousVariable(name)) return "dangerous";
  if (prefix !== undefined) return undefined;
  if (Object.hasOwn(env, name)) return "taken";
  return /^[A-Z][A-Z0-9_]*$/.test(name) ? undefined : "unusual";
}

/**
 * Names of variables that make common programs load or run other code, or trust other servers; `*`
 * is any text. No list is complete: this one is a convenience, and `--only` the guard.
 */
const dangerous: readonly string[] = [
  // The loader, the C library and shared libraries.
  `
    LD_* DYLD_* GLIBC_* GCONV_* MALLOC_* NLSPATH LOCPATH TZDIR RES_OPTIONS HOSTALIASES
    LOCALDOMAIN RESOLV_* OPENSSL_* SSL_CERT_* SSLKEYLOGFILE KRB5* SASL_PATH GTK_* GIO_* GDK_*
    QT_* GST_* VK_* LIBGL_* LIBVA_* OCL_* ASAN_OPTIONS LSAN_OPTIONS MSAN_OPTIONS TSAN_OPTIONS
    UBSAN_OPTIONS FAKEROOT* FAKECHROOT*
  `,
  // Shells and terminals.
  `
    PATH PATHEXT COMSPEC SYSTEMROOT WINDIR PSMODULEPATH HOME SHELL SHELLOPTS BASH* ENV IFS PS0
    PS1 PS2 PS3 PS4 PROMPT PROMPT_COMMAND RPROMPT RPS1 ZDOTDIR ZSH* KSH* FPATH CDPATH FCEDIT
    INPUTRC HISTFILE GLOBIGNORE EXECIGNORE MAILPATH TERMCAP TERMINFO* TMPDIR TMP TEMP XDG_*
    DBUS_* SYSTEMD_* SCREENRC SCREENDIR TMUX* STARSHIP_* DIRENV_*
  `,
  // Editors, pagers and what else programs start.
  `
    EDITOR *_EDITOR HGEDITOR VISUAL *_VISUAL *PAGER BROWSER *_BROWSER LESS LESSOPEN LESSCLOSE
    LESSEDIT LESSKEY* MORE MANPATH MANOPT VIM VIMINIT VIMRUNTIME GVIMINIT EXINIT MYVIMRC NVIM_*
    EMACS* *ASKPASS* RSH *_RSH *_SHELL FZF_* RIPGREP_* BAT_* ACKRC GREP_OPTIONS TAR_OPTIONS
    XZ_OPT XZ_DEFAULTS GZIP ZIPOPT UNZIP WGETRC CURL_HOME NETRC LYNX_* MAILCAPS MAILRC *_PROXY
    *_CA_BUNDLE PINENTRY_* GNUPGHOME GPG_AGENT_INFO
  `,
  // Build tools.
  `
    MAKE MAKEFLAGS MAKEFILES MAKE_* GNUMAKEFLAGS MFLAGS CC CXX CPP LD AR AS CFLAGS CPPFLAGS
    CXXFLAGS LDFLAGS FFLAGS CMAKE* GCC_* COMPILER_PATH LIBRARY_PATH CPATH *_INCLUDE_PATH
    PKG_CONFIG* ACLOCAL* M4PATH TEXINPUTS TEXMF* DISTCC_* CCACHE_* SCCACHE_* CARGO_* RUSTC*
    RUSTDOC* RUSTFLAGS RUSTUP_* NIX_* BAZEL* HOMEBREW_* ASDF_* NVM_* VOLTA_* PYENV_* RBENV_*
    SDKMAN_*
  `,
  // Languages and their package managers.
  `
    NODE_* NPM_CONFIG_* YARN_* PNPM_* COREPACK_* BUN_* DENO_* TS_NODE_* TSX_* ELECTRON_* PYTHON*
    PIP_* PIPENV_* POETRY_* UV_* CONDA_* VIRTUAL_ENV PERL* RUBY* JRUBY* GEM_* BUNDLE_* IRBRC
    PHPRC PHP_INI_* COMPOSER_* *JAVA_OPTIONS *JAVA_TOOL_OPTIONS JAVA_* *_JAVA_OPTS CLASSPATH
    MAVEN_* M2_* GRADLE_* ANT_ARGS ANT_OPTS SBT_* LEIN_* KOTLIN_* GROOVY_* CATALINA_* DOTNET_*
    CORECLR_* COR_* COMPLUS_* MONO_* NUGET_* MSBUILD* ASPNETCORE_HOSTINGSTARTUP* GOFLAGS GOPATH
    GOROOT GOBIN GOENV GOPROXY GONO* GOSUMDB GOPRIVATE GOINSECURE GOTOOL* GODEBUG GOEXPERIMENT
    GOVCS GOWORK CGO_* LUA_* LUAROCKS_* ERL_* ELIXIR_* MIX_* R_* JULIA_* OCAML* CAML* GUILE_*
    TCL_* TCLLIBPATH GHCRTS GHC_ENVIRONMENT GHC_PACKAGE_PATH AWKPATH AWKLIBPATH DART_*
  `,
  // Tools of operators.
  `
    GIT_* SVN_* HGRCPATH SSH_AUTH_SOCK SSH_SK_* RSYNC_CONNECT_PROG KUBECONFIG KUBERC KUBECTL_*
    HELM_* KUSTOMIZE_* DOCKER_CONFIG DOCKER_HOST DOCKER_CONTEXT DOCKER_CERT_PATH BUILDKIT_*
    CONTAINER_HOST TF_CLI_* TF_PLUGIN_* ANSIBLE_* VAGRANT_* AWS_CONFIG_FILE
    AWS_SHARED_CREDENTIALS_FILE AWS_ENDPOINT_URL* CLOUDSDK_*
    GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES AZURE_CONFIG_DIR PGSERVICEFILE PGSYSCONFDIR PSQLRC
    PSQL_* MYSQL_HOME LIBMYSQL_* ODBC*INI LATCHKEY_*
  `,
];

const names = dangerous.join(" ").trim().split(/\s+/);

/** Whether a variable can make a program run other code. */
export function isDangerousVariable(name: string): boolean {
  return fitsAny(name.toUpperCase(), names);
}
