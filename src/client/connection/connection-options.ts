import { duration, namespaceName } from "../../runtime/config-values.ts";
import {
  choiceOption,
  fileOption,
  headerText,
  serverUrl,
  someText,
  switchOption,
} from "../option-values.ts";
import type { CommandOptions } from "../../cli/command.ts";
import type { ConfigOf } from "../../runtime/options.ts";

/** The options of every command that sends requests, with the names that kubectl gives them. */
export const connectionOptions = {
  namespace: {
    value: "<name>",
    alias: "n",
    help: "namespace; that of the kubeconfig context if unset",
    completes: "namespaces",
    parse: namespaceName,
  },
  kubeconfig: fileOption({
    help:
      "kubeconfig; if unset, the variables LATCHKEY_SERVER and LATCHKEY_ACCESS_KEY, " +
      "or else KUBECONFIG or ~/.kube/config",
  }),
  context: {
    value: "<name>",
    help: "context of the kubeconfig",
    completes: "contexts",
    parse: someText,
  },
  server: {
    value: "<url>",
    alias: "s",
    help: "address of kube-apiserver or of the gateway",
    parse: serverUrl,
  },
  token: {
    value: "<text>",
    help:
      "bearer token, such as an access key; visible to other users of the machine, " +
      "so prefer a kubeconfig with tokenFile",
    parse: headerText,
  },
  certificateAuthority: fileOption({ help: "CA certificates of the server" }),
  clientCertificate: fileOption({ help: "client certificate" }),
  clientKey: fileOption({ help: "key of the client certificate" }),
  tlsServerName: {
    value: "<name>",
    help: "name in the certificate of the server",
    parse: someText,
  },
  insecureSkipTlsVerify: switchOption({
    help:
      "do not check the certificate of the server; other machines on the way can then read the " +
      "requests",
  }),
  as: { value: "<user>", help: "user to impersonate", parse: headerText },
  asGroup: {
    many: true,
    value: "<group>",
    help: "group to impersonate; repeat it for several",
    parse: headerText,
  },
  requestTimeout: {
    value: "<duration>",
    initial: "30s",
    help: "maximum time of a request",
    parse: duration({ unit: 1000, least: 1 }),
  },
} as const satisfies CommandOptions;

/** Values of {@link connectionOptions}. */
export type ConnectionFlags = ConfigOf<typeof connectionOptions>;

/** The output of commands that print objects. */
export const objectOutput = {
  output: choiceOption(["json", "yaml", "name"], { alias: "o", help: "output format" }),
} as const satisfies CommandOptions;

/** The option of commands that write what exists. */
export const dryRun = {
  dryRun: choiceOption(["none", "server"], {
    help: "server sends the request without storing anything",
  }),
} as const satisfies CommandOptions;

/** The output of commands that print one result. */
export const resultOutput = {
  output: choiceOption(["json", "yaml"], { alias: "o", help: "output format" }),
} as const satisfies CommandOptions;

const newKeyFormats = ["env", "kubeconfig", "json", "yaml"] as const;

/** How a new key is printed, unless alone. */
export type NewKeyFormat = (typeof newKeyFormats)[number];

/** The output of commands that print a new key. */
export const newKeyOutput = {
  output: choiceOption(newKeyFormats, {
    alias: "o",
    help: "output format, with the key and the server; the key alone if unset",
  }),
} as const satisfies CommandOptions;

/** The output of a successor, which may be only printed. */
export const rotatedKeyOutput = {
  output: choiceOption([...newKeyFormats, "manifest"], {
    alias: "o",
    help: `${newKeyOutput.output.help}; manifest is the successor alone, for Git`,
  }),
} as const satisfies CommandOptions;

/** The namespace of Latchkey itself. */
export const systemNamespace = {
  latchkeyNamespace: {
    value: "<name>",
    initial: "latchkey-system",
    help: "namespace that Latchkey runs in",
    parse: namespaceName,
  },
} as const satisfies CommandOptions;
