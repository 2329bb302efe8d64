import { describe, expect, test } from "vitest";
import {
  isDangerousVariable,
  selectedVariables,
} from "../../../src/client/secrets/selected-variables.ts";
import { runInMemory, sharedSecret } from "../memory-cli.ts";

const values = new Map(
  ["DB_URL", "password", "LD_PRELOAD", "USER", "tls.key", "_X", "1"].map((key) => [
    key,
    Buffer.from(key.toLowerCase()),
  ]),
);
const [nul, binary] = [Buffer.from("a\0b"), Buffer.from([0xff])];
const env = { USER: "me" };

describe("variables are", () => {
  test.each<[string, readonly string[], string | undefined, readonly string[]]>([
    ["upper-case names that the environment does not have", [], undefined, ["DB_URL"]],
    ["those that --only names", ["LD_PRELOAD", "password"], undefined, ["LD_PRELOAD", "password"]],
    ["but no impossible names", ["tls.key", "1"], undefined, []],
    [
      "with a prefix",
      [],
      "A_",
      ["A_DB_URL", "A_password", "A_LD_PRELOAD", "A_USER", "A__X", "A_1"],
    ],
    ["but no dangerous names", [], "LD_", []],
    ["with a prefix that --only overrules", ["1"], "LD_", ["LD_1"]],
  ])("%s", (_what, only, prefix, names) => {
    const wanted = only.length === 0 ? values : new Map(only.map((key) => [key, Buffer.of()]));
    const { variables } = selectedVariables(wanted, { only, prefix }, env);
    expect(variables.map(([name]) => name)).toEqual(names);
  });

  test("text without NUL bytes", () => {
    const texts = new Map([...values, ["NUL", nul], ["BINARY", binary]]);
    expect(selectedVariables(texts, { only: [], prefix: undefined }, env)).toEqual({
      variables: [["DB_URL", "db_url"]],
      leftOut: [
        expect.stringMatching(/^left out tls.key, 1, NUL, BINARY: a variable needs [^;]+$/),
        expect.stringMatching(/^left out LD_PRELOAD: [^;]+; to take it, set --only=LD_PRELOAD$/),
        expect.stringMatching(/^left out USER: your environment has [^;]+; .+ --only=USER$/),
        expect.stringMatching(/^left out password, _X: [^;]+; .+ --only=password --only=_X$/),
        "--only takes nothing else; what is taken now is --only=DB_URL",
      ],
    });
  });

  test("named with their prefix, and with the data key for --only", () => {
    const { leftOut } = selectedVariables(values, { only: [], prefix: "BASH_" }, env);
    expect(leftOut[1]).toMatch(/^left out BASH_DB_URL, .+ set --only=DB_URL --only=password /);
  });
});

describe("get leaves out what run leaves out", () => {
  const objects = {
    sharedsecrets: [sharedSecret({ PATH: "/evil", URL: "u", USER: "x", key: "k" })],
  };
  const get = (...words: readonly string[]) =>
    runInMemory(["get", "database", ...words], { objects, env: { USER: "me" } });

  test.each<[readonly string[], string]>([
    [["-o", "shell"], "export URL='u'\n"],
    [["-o", "dotenv"], "URL='u'\n"],
    [["-o", "dotenv", "--only=PATH", "--only=key"], "PATH='/evil'\nkey='k'\n"],
    [["-o", "dotenv", "--prefix=A_"], "A_PATH='/evil'\nA_URL='u'\nA_USER='x'\nA_key='k'\n"],
    [["key", "-o", "shell"], "export key='k'\n"],
    [["--only=key"], "k"],
    [["--only=key", "--only=URL", "-o", "name"], "key\nURL\n"],
  ])("%j", async (words, stdout) => {
    expect(await get(...words)).toMatchObject({ code: 0, stdout });
  });

  test("and says so", async () => {
    expect((await get("-o", "shell")).stderr).toContain("left out PATH: such a variable can");
  });

  test.each([
    [["key", "--only=URL"], 2, "--only cannot be combined"],
    [["--all", "--only=URL", "-o", "json"], 2, "--only cannot be combined"],
    [["key", "--prefix=A_"], 2, "--prefix is for --output=shell and --output=dotenv"],
    [["--only=missing", "-o", "shell"], 4, 'has no data key "missing"; it has PATH'],
  ])("%j is refused", async (words, code, sentence) => {
    expect(await get(...words)).toMatchObject({ code, stderr: expect.stringContaining(sentence) });
  });
});

describe("variables that make a program run other code", () => {
  const programs = [
    ...[
      "PATH",
      "LD_PRELOAD",
      "NODE_OPTIONS",
      "BUN_OPTIONS",
      "BASH_ENV",
      "ENV",
      "PYTHONPATH",
      "path",
    ],
    ...["GIT_SSH_COMMAND", "KUBE_EDITOR", "MAKEFLAGS", "LESSOPEN", "LUA_INIT", "LUA_INIT_5_4"],
    ...["GOFLAGS", "DOTNET_STARTUP_HOOKS", "PROMPT_COMMAND", "PS1", "EDITOR", "MANPAGER"],
    ...["SSH_ASKPASS", "RUSTC_WRAPPER", "CARGO_HOME", "OPENSSL_CONF", "KRB5_CONFIG", "JAVA_OPTS"],
    ...["JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS", "CLASSPATH", "PHPRC"],
    ...[
      "CORECLR_PROFILER_PATH",
      "ERL_FLAGS",
      "R_PROFILE",
      "ZDOTDIR",
      "VIMINIT",
      "EXINIT",
      "INPUTRC",
    ],
    ...["BROWSER", "CC", "LDFLAGS", "PIP_INDEX_URL", "RUBYOPT", "PERL5OPT", "TAR_OPTIONS"],
    ...["RSYNC_RSH", "WGETRC", "CURL_HOME", "TF_CLI_CONFIG_FILE", "ANSIBLE_CONFIG", "HELM_PLUGINS"],
    ...["LATCHKEY_SERVER", "LATCHKEY_CERTIFICATE_AUTHORITY_DATA", "LATCHKEY_ACCESS_KEY"],
    ...["KUBECONFIG", "DOCKER_HOST", "AWS_CONFIG_FILE", "PGSERVICEFILE", "XDG_CONFIG_HOME", "HOME"],
    ...["HTTPS_PROXY", "SSL_CERT_FILE", "SSLKEYLOGFILE", "GTK_MODULES", "TERMINFO", "FPATH"],
  ];
  test.each(programs)("%s", (name) => {
    expect(isDangerousVariable(name)).toBe(true);
  });
  const harmless = [
    ...["password", "DATABASE_URL", "PATHNAME", "ENVIRONMENT", "NODENAME", "PGPASSWORD", "API_KEY"],
    ...["AWS_ACCESS_KEY_ID", "GOOGLE_API_KEY", "GITHUB_TOKEN", "NPM_TOKEN", "GHCR_TOKEN"],
    ...["DOCKER_PASSWORD", "SSH_PRIVATE_KEY", "FEATURE_FLAGS", "VIMEO_TOKEN", "GPG_PASSPHRASE"],
    ...[
      "PROMPT_TEMPLATE",
      "MAIL_FROM",
      "HISTORY_URL",
      "MYSQL_PASSWORD",
      "CCTV_URL",
      "LDAP_PASSWORD",
    ],
  ];
  test.each(harmless)("not %s", (name) => {
    expect(isDangerousVariable(name)).toBe(false);
  });
});
