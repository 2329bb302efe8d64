import { duration, namespaceName } from "../../../runtime/config-values.ts";
import {
  choiceFlag,
  type FlagsOf,
  type FlagTable,
  headerText,
  listFlag,
  optionalFlag,
  serverUrl,
  someText,
  switchFlag,
  flagWithDefault,
} from "../flag.ts";

/** The flags of every command that sends requests, with the names that kubectl gives them. */
export const connectionFlags = {
  namespace: optionalFlag(
    {
      value: "<name>",
      alias: "n",
      help: "namespace; that of the kubeconfig context if unset",
      completes: "namespaces",
    },
    namespaceName,
  ),
  kubeconfig: optionalFlag(
    {
      value: "<file>",
      help: "kubeconfig; KUBECONFIG or ~/.kube/config if unset",
      completes: "files",
    },
    someText,
  ),
  context: optionalFlag(
    { value: "<name>", help: "context of the kubeconfig", completes: "contexts" },
    someText,
  ),
  server: optionalFlag(
    { value: "<url>", alias: "s", help: "address of kube-apiserver or of the gateway" },
    serverUrl,
  ),
  token: optionalFlag(
    {
      value: "<text>",
      help: "bearer token, such as an access key; visible to other users of the machine, so prefer a kubeconfig with tokenFile",
    },
    headerText,
  ),
  certificateAuthority: optionalFlag(
    { value: "<file>", help: "CA certificates of the server", completes: "files" },
    someText,
  ),
  clientCertificate: optionalFlag(
    { value: "<file>", help: "client certificate", completes: "files" },
    someText,
  ),
  clientKey: optionalFlag(
    { value: "<file>", help: "key of the client certificate", completes: "files" },
    someText,
  ),
  tlsServerName: optionalFlag(
    { value: "<name>", help: "name in the certificate of the server" },
    someText,
  ),
  insecureSkipTlsVerify: switchFlag({
    help: "do not check the certificate of the server; other machines on the way can then read the requests",
  }),
  as: optionalFlag({ value: "<user>", help: "user to impersonate" }, headerText),
  asGroup: listFlag(
    { value: "<group>", help: "group to impersonate; repeat it for several" },
    headerText,
  ),
  requestTimeout: flagWithDefault(
    { value: "<duration>", initial: "30s", help: "maximum time of a request" },
    duration({ unit: 1000, least: 1 }),
  ),
} as const satisfies FlagTable;

/** Values of {@link connectionFlags}. */
export type ConnectionFlags = FlagsOf<typeof connectionFlags>;

/** The output of commands that print objects. */
export const objectOutput = {
  output: choiceFlag(["json", "yaml", "name"], { alias: "o", help: "output format" }),
} as const satisfies FlagTable;

/** The output of commands that print one result. */
export const resultOutput = {
  output: choiceFlag(["json", "yaml"], { alias: "o", help: "output format" }),
} as const satisfies FlagTable;

const newKeyFormats = ["env", "kubeconfig", "json", "yaml"] as const;

/** How a new key is printed, unless alone. */
export type NewKeyFormat = (typeof newKeyFormats)[number];

/** The output of commands that print a new key. */
export const newKeyOutput = {
  output: choiceFlag(newKeyFormats, {
    alias: "o",
    help: "output format, with the key and the server; the key alone if unset",
  }),
} as const satisfies FlagTable;

/** The namespace of Latchkey itself. */
export const systemNamespace = {
  latchkeyNamespace: flagWithDefault(
    { value: "<name>", initial: "latchkey-system", help: "namespace that Latchkey runs in" },
    namespaceName,
  ),
} as const satisfies FlagTable;
