import { apiVersion } from "../../api/names.ts";
import { parseOwnedAccessKeySpec } from "../../api/owned-access-key.ts";
import { recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { boundSubjectOf } from "../../domain/access-key/key-digest.ts";
import { readyOf } from "../../domain/object-state.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { type ClusterInfo, clusterInfo } from "../../kube/credentials/kubeconfig-credentials.ts";
import { UsageError } from "../../runtime/config-values.ts";
import { newBoundKey } from "../../tokens/access-key.ts";
import type { Cli, ConnectedCli } from "../cli.ts";
import { gatewayAt, publishedGateway, kubeconfigContent } from "../connection/cluster-address.ts";
import type { Cluster } from "../connection/cluster.ts";
import { connectionVariables } from "../connection/connection-variables.ts";
import type { ConnectionFlags, NewKeyFormat } from "../connection/connection-options.ts";
import { exitCodes, Failure, sentenceOf } from "../failure.ts";
import { doneText, jsonText, yamlText } from "../output.ts";
import { createPrivateFile, type PrivateFile } from "../private-files.ts";
import { waitUntil } from "../progress.ts";
import { dotenvText } from "../secrets/values.ts";
import { keyEnd, unscopedOf } from "./key-view.ts";

/** Where a new key is printed, and the connection with which it is tried. */
interface NewKeyPlace extends ConnectionFlags {
  readonly outputFile: string | undefined;
  readonly latchkeyNamespace: string;
}

/** The same, and how it is printed. */
interface NewKeyOptions extends NewKeyPlace {
  readonly output: NewKeyFormat | undefined;
  readonly gateway: string | undefined;
  readonly gatewayCa: string | undefined;
}

/** What is printed of a new key. */
interface NewKeyText {
  readonly textOf: (key: PrintedKey, server: ClusterInfo) => string;
  /**
   * The server in the text; without it, that of the context if it accepts the key, or else the
   * gateway that the central cluster publishes.
   */
  readonly server: ClusterInfo | undefined;
  /** The option that names another server. */
  readonly option: string;
}

/** A write of an OwnedAccessKey, given the digest of its new key; returns the stored object. */
interface NewKeyWrite {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly write: (digest: string) => Promise<unknown>;
  /** What it does to the object. */
  readonly done: "created" | "taken over";
}

/** An OwnedAccessKey whose annotations say which tokens stand for its key. */
interface KeylessKey extends Pick<NewKeyWrite, "spec"> {
  readonly annotations: Readonly<Record<string, string>>;
}

/** The write that creates an OwnedAccessKey. */
export function newKeyObject(
  name: string,
  spec: NewKeyWrite["spec"],
  cluster: Pick<Cluster, "create">,
): NewKeyWrite {
  const resource = resources.ownedAccessKeys;
  const { kind } = resource;
  const write = (key: string): Promise<unknown> =>
    cluster.create(resource, { apiVersion, kind, metadata: { name }, spec: { ...spec, key } });
  return { spec, write, done: "created" };
}

const readyWithinMs = 10_000;

/** Creates an OwnedAccessKey without a key; returns the exit code once its state is said. */
export async function createKeyless(
  name: string,
  { spec, annotations }: KeylessKey,
  { cluster, cli }: ConnectedCli,
): Promise<number> {
  const resource = resources.ownedAccessKeys;
  const metadata = { name, annotations };
  await cluster.create(resource, { apiVersion, kind: resource.kind, metadata, spec });
  return sayState({ name, spec, done: "created" }, await settledKey(name, { cluster, cli }), cli);
}

/** Makes a key for a spec, stores its digest and prints the key; returns the exit code. */
export function makeKey(
  write: NewKeyWrite,
  options: NewKeyOptions,
  deps: ConnectedCli,
): Promise<number> {
  const { output, gateway } = options;
  const own = wantedServer(options, deps.cluster);
  const isGiven = output === undefined || gateway !== undefined;
  const text: NewKeyText = {
    textOf: (key, server) => newKeyText(output, key, server),
    server: isGiven ? own : undefined,
    option: "--gateway",
  };
  return makeKeyAs(text, write, { ...options, ...deps });
}

/**
 * Makes a key for a spec, stores its digest and prints a text with the key; returns the exit code.
 * The file is created before the request, so that no key is lost because it cannot be written.
 */
export async function makeKeyAs(
  text: NewKeyText,
  { spec, write, done }: NewKeyWrite,
  deps: ConnectedCli & NewKeyPlace,
): Promise<number> {
  const { cluster, cli } = deps;
  const subject = boundSubjectOf(parseOwnedAccessKeySpec(spec));
  if (subject === undefined)
    throw new Failure("the key has no user, team or subject; set --user, --team or --subject");
  const own = clusterInfo(cluster.choice);
  const key = newBoundKey(subject);
  const output = openOutput(deps, cli);
  let stored: unknown;
  try {
    stored = await write(key.digest);
  } catch (error) {
    output.discard();
    throw error;
  }
  const name = stringAt(recordAt(stored, "metadata"), "name") ?? "";
  const print = (server: ClusterInfo): void =>
    output.finish(text.textOf({ name, subject, key: key.plain }, server));
  if (text.server !== undefined) {
    print(text.server);
    return sayState({ name, spec, done }, await settledKey(name, deps), cli);
  }
  let [object, server]: [unknown, ClusterInfo | undefined] = [undefined, own];
  try {
    object = await settledKey(name, deps);
    if (readyOf(object)?.status === "True") server = await acceptingServer(key.plain, text, deps);
  } finally {
    // Whatever fails, the key is printed: it cannot be read again.
    print(server ?? own);
  }
  const code = sayState({ name, spec, done }, object, cli);
  return server === undefined ? exitCodes.unhealthy.code : code;
}

/** The new file of --output-file, or the standard output. */
function openOutput({ outputFile }: NewKeyPlace, { terminal }: Cli): PrivateFile {
  return outputFile === undefined
    ? { finish: terminal.print, discard: () => {} }
    : createPrivateFile(outputFile, "--output-file");
}

/** The server of the output: that of --gateway, or of the context. */
function wantedServer(
  { output, gateway, gatewayCa }: NewKeyOptions,
  { choice }: Cluster,
): ClusterInfo {
  if (gateway === undefined && gatewayCa !== undefined)
    throw new UsageError("--gateway-ca requires --gateway");
  if (gateway === undefined) return clusterInfo(choice);
  if (output === undefined) throw new UsageError("--gateway requires --output");
  return gatewayAt(gateway, gatewayCa);
}

/**
 * The server of the context if it accepts the key, else the gateway that the central cluster
 * publishes; undefined, and said, if there is none.
 */
async function acceptingServer(
  key: string,
  { option }: NewKeyText,
  { cluster, cli, ...options }: ConnectedCli & NewKeyPlace,
): Promise<ClusterInfo | undefined> {
  const own = clusterInfo(cluster.choice);
  if ((await tryKey(key, options, cli)).kind !== "unknown") return own;
  const gateway = await publishedGateway(cluster, options.latchkeyNamespace);
  const refused = `${own.server} does not accept access keys`;
  cli.terminal.say(
    gateway === undefined
      ? `${refused}, and no gateway publishes its address; ` +
          `set ${option} to it, or use the address of an API server with the webhook`
      : `${refused}, so the output has the gateway ${gateway.server}`,
  );
  return gateway;
}

/** The object once the controller has judged it; undefined if that cannot be read. */
function settledKey(name: string, { cluster, cli }: ConnectedCli): Promise<unknown> {
  const look = async () => {
    try {
      const object = await cluster.get(resources.ownedAccessKeys, { name });
      return readyOf(object) === undefined ? undefined : object;
    } catch (error) {
      // The grant to read the new object follows some milliseconds after it.
      if (isKubeError(error, "Forbidden", "NotFound")) return undefined;
      throw error;
    }
  };
  return waitUntil(look, readyWithinMs, cli);
}

/** Says what was done, whether the key is valid, and when it ends; returns the exit code. */
function sayState(
  { name, spec, done }: Pick<NewKeyWrite, "spec" | "done"> & { readonly name: string },
  object: unknown,
  { terminal }: Cli,
): number {
  const ready = readyOf(object);
  const state =
    ready === undefined
      ? "its state cannot be read yet"
      : // The message of a key that works has its end, too.
        `${ready.reason}${ready.status === "True" ? "" : `, ${ready.message}`}`;
  const what = `${done}: ${state}; it ${keyEnd(spec, object)}`;
  terminal.say(doneText(resources.ownedAccessKeys, { name }, what));
  if (parseOwnedAccessKeySpec(spec).scope === "none")
    terminal.say(
      `OwnedAccessKey "${name}" has ${unscopedOf({ ...recordAt({ object }, "object"), spec })}`,
    );
  return ready?.status === "False" ? exitCodes.unhealthy.code : exitCodes.done.code;
}

/** A new key, and the OwnedAccessKey that holds its digest. */
interface PrintedKey {
  readonly name: string;
  readonly subject: string;
  readonly key: string;
}

/** A new key in the chosen format; without one, the key alone. */
export function newKeyText(
  format: NewKeyFormat | undefined,
  { name, subject, key }: PrintedKey,
  cluster: ClusterInfo,
): string {
  switch (format) {
    case undefined:
      return `${key}\n`;
    case "env":
      return variablesText(key, cluster);
    case "kubeconfig":
      return yamlText(kubeconfigContent(name, cluster, { token: key }));
    case "json":
      return jsonText({ name, subject, key, server: cluster.server });
    case "yaml":
      return yamlText({ name, subject, key, server: cluster.server });
  }
}

/**
 * Lines that a shell, Docker and dotenv libraries read alike: quotes only where they are needed.
 */
function variablesText(
  key: string,
  { server, "certificate-authority-data": ca }: ClusterInfo,
): string {
  const variables: readonly (readonly [name: string, value: string | undefined])[] = [
    [connectionVariables.key, key],
    [connectionVariables.server, server],
    [connectionVariables.certificateAuthorityData, ca],
  ];
  return variables
    .flatMap(([name, value]) => {
      if (value === undefined) return [];
      const isPlain = /^[\w./:=+@%-]*$/.test(value);
      return isPlain ? `${name}=${value}\n` : dotenvText([[name, value]]);
    })
    .join("");
}

/** What the server of a connection says about a key. */
type KeyTrial =
  | { readonly kind: "accepted"; readonly userInfo: unknown }
  /** The server does not know the key, or knows no keys. */
  | { readonly kind: "unknown" }
  | { readonly kind: "refused"; readonly why: string };

/** Asks the server of the flags and the kubeconfig whom a key authenticates as. */
export async function tryKey(
  token: string,
  flags: ConnectionFlags,
  { connect }: Pick<Cli, "connect">,
): Promise<KeyTrial> {
  const cluster = await connect({ ...flags, token, as: undefined, asGroup: [] });
  try {
    const { userInfo } = await cluster.review(resources.selfReviews, {});
    return { kind: "accepted", userInfo };
  } catch (error) {
    if (isKubeError(error, "Unauthorized")) return { kind: "unknown" };
    if (isKubeError(error, "Forbidden"))
      return { kind: "refused", why: reasonIn(error.explanation) ?? sentenceOf(error) };
    throw error;
  }
}

/**
 * The reason of Latchkey's authorizer in a 403. kube-apiserver knows the user of a key for some
 * seconds after the key has ended; every valid key may ask about itself.
 */
function reasonIn(explanation: string): string | undefined {
  const at = explanation.indexOf(": the access key of this request ");
  return at === -1 ? undefined : explanation.slice(at + 2);
}
