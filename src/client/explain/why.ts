import { parseEndpointToken } from "../../api/endpoint-token.ts";
import { keyOf } from "../../api/object.ts";
import { recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { SecretText } from "../../api/secret-text.ts";
import { explainToken } from "../../domain/endpoint-token/explain-token.ts";
import { reportObject } from "../../domain/report-object.ts";
import { similarName } from "../../domain/similar-name.ts";
import { agentCopyItems, unknownKeyItems } from "../../domain/sync/explain-place.ts";
import { sourceItem } from "../../domain/sync/sync-report.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { UsageError } from "../../runtime/config-values.ts";
import { createDataDigest } from "../../tokens/data-digest.ts";
import { observedSource } from "../../tokens/observed-data.ts";
import type { Action, Flags } from "../cli.ts";
import { isCentral } from "../cluster/agent-copies.ts";
import type { Cluster } from "../connection/cluster.ts";
import { exitCodes, Failure, sentenceOf } from "../failure.ts";
import { distinctRights, readWith, rightText } from "../missing-right.ts";
import { readableNames } from "../objects/listing.ts";
import { readTokenFile } from "../oidc/token-text.ts";
import { tokenItems } from "../oidc/why-token.ts";
import { followed } from "../secrets/followed.ts";
import { type AskedKind, askedKinds, parseAsked } from "./asked-kinds.ts";
import { readLiveKey } from "./live-keys.ts";
import { isWell, printReport, withMissing } from "../report.ts";
import { readSyncObjects } from "./sync-objects.ts";
import { clusterItems } from "./why-clusters.ts";
import { readPlace, withPlace } from "./why-place.ts";
import { whyConnected } from "./why-connected.ts";
import { keyItem, requestItems } from "./why-key.ts";
import { secretItems } from "./why-secret.ts";
import { sharedSecretItems } from "./why-shared-secret.ts";
import { type WhyReport, whyText } from "./why-text.ts";

type WhyFlags = Flags<"why">;

/** What a question is about, and where it is asked. */
interface Question {
  readonly name: string;
  readonly flags: WhyFlags;
  /** The words after the object. */
  readonly words: readonly string[];
  /** A token that an access key is asked about. */
  readonly token: SecretText | undefined;
  readonly cluster: Cluster;
  readonly now: number;
}

/** `kubectl latchkey why`. */
export const why: Action<"why"> = async ({ flags, args: [word = "", ...words] }, cli) => {
  const { kind, name } = parseAsked(word, "KIND/NAME");
  if (words.length > 0 && kind !== "oak")
    throw new UsageError("only an OwnedAccessKey can be asked about a request");
  if (flags.cluster !== undefined && kind !== "shsec")
    throw new UsageError("--cluster is only for a SharedSecret, as shsec/NAME");
  const { withTokenFile } = flags;
  if (withTokenFile !== undefined && kind !== "oak")
    throw new UsageError("--with-token-file is only for an OwnedAccessKey, as oak/NAME");
  const token =
    withTokenFile === undefined
      ? undefined
      : new SecretText(readTokenFile("--with-token-file", withTokenFile));
  if (words.length === 1)
    throw new UsageError(`the resource of the request "${words[0]}" is missing`);
  const cluster = await cli.connect(flags);
  const question = { name, flags, words, token, cluster, now: cli.clock.now() };
  const { clock } = cli;
  const report = (await isCentral(cluster))
    ? await answers[kind](question).catch(async (error: unknown) => {
        throw await withSimilarName({ kind, name }, cluster, error);
      })
    : await whyConnected(
        { kind, name, flags },
        { cluster, clock, namespace: flags.latchkeyNamespace },
      );
  printReport(withMissing(report), (paint) => whyText(report, paint), { ...flags, ...cli });
  return isWell(report.found) || !flags.exitCode ? exitCodes.done.code : exitCodes.unhealthy.code;
};

const answers = {
  secret: whySecret,
  shsec: whySharedSecret,
  oak: whyKey,
  dcet: whyToken,
} as const satisfies Readonly<Record<AskedKind, (question: Question) => Promise<WhyReport>>>;

async function whySecret({ name, flags, cluster }: Question): Promise<WhyReport> {
  const { namespace } = cluster.choice;
  const { requireSyncFrom, copyKeys } = flags;
  const target = { namespace, name };
  const live = await readSyncObjects(cluster, {
    secrets: target,
    namespaces: [namespace],
    requireSyncFrom,
    copyKeys,
  });
  const own = secretItems(target, live);
  const place = await readPlace(cluster, target, {
    requireSyncFrom,
    copyKeys,
    isConnected: false,
  });
  const object = reportObject(resources.secrets.kind, target);
  const names = live.snapshot.sharedSecrets.map(({ options }) => options.secretName);
  const meant = own.length > 0 ? undefined : similarName(name, names);
  const hasNone = own.length === 0 && live.missing.length === 0;
  const found = hasNone
    ? [...unknownKeyItems(place.found), ...agentCopyItems(place.found)]
    : withPlace(own, place.found);
  if (hasNone && found.length === 0)
    throw new Failure(
      `no SharedSecret syncs to Secret "${keyOf(target)}"${didYouMean("secret", meant)}`,
      "notFound",
    );
  if (found.length === 0)
    throw new Failure(
      `no SharedSecret that you may read syncs to Secret "${keyOf(target)}"` +
        `${didYouMean("secret", meant)}; you do not have the rights ` +
        live.missing.map(rightText).join(", "),
      "notFound",
    );
  const missing = distinctRights([...live.missing, ...place.missing]);
  return { object, found, missing };
}

function didYouMean(kind: AskedKind, meant: string | undefined): string {
  return meant === undefined ? "" : `; did you mean ${kind}/${meant}?`;
}

/** The objects of the kind that the user may read have another name that is similar. */
async function withSimilarName(
  { kind, name }: ReturnType<typeof parseAsked>,
  cluster: Cluster,
  error: unknown,
): Promise<unknown> {
  if (kind === "secret" || !isKubeError(error, "NotFound")) return error;
  const { resource } = askedKinds[kind];
  const { namespace } = cluster.choice;
  const place = resource.namespaced ? namespace : undefined;
  const listed = await readWith(
    { verb: "list", resource },
    () => cluster.list(resource, place),
    [],
  );
  const names =
    listed.missing.length > 0
      ? (await readableNames(cluster, resource, namespace)).names
      : listed.found.map((raw) => stringAt(recordAt(raw, "metadata"), "name") ?? "");
  const meant = similarName(name, names);
  return meant === undefined
    ? error
    : new Failure(`${sentenceOf(error)}${didYouMean(kind, meant)}`, "notFound");
}

async function whySharedSecret({ name, flags, cluster, now }: Question): Promise<WhyReport> {
  const { namespace } = cluster.choice;
  const { requireSyncFrom, copyKeys, userPrefix: user, teamPrefix: team } = flags;
  const raw = await cluster.get(resources.sharedSecrets, { namespace, name });
  const digestOf = createDataDigest();
  const { found: asked } = await followed(observedSource(raw, digestOf), { cluster, digestOf });
  const object = reportObject(resources.sharedSecrets.kind, { namespace, name });
  const there = { raw, source: asked, asked: flags.cluster };
  const clusters = await clusterItems(there, { cluster, now });
  if (flags.cluster !== undefined) {
    const own = sourceItem(asked);
    return { object, ...clusters, found: own === undefined ? clusters.found : [own] };
  }
  const live = await readSyncObjects(cluster, {
    secrets: { name: asked.options.secretName },
    namespaces: [namespace],
    requireSyncFrom,
    copyKeys,
  });
  const isAsked = ({ secret }: typeof asked): boolean =>
    secret.metadata.uid === asked.secret.metadata.uid;
  // The digests of one reading compare with each other only.
  const source = live.snapshot.sharedSecrets.find(isAsked) ?? asked;
  const prefixes = { user, team };
  return {
    object,
    found: [...sharedSecretItems({ raw, source, prefixes }, live), ...clusters.found],
    missing: [...live.missing, ...clusters.missing],
  };
}

async function whyKey({ name, flags, words, token, cluster, now }: Question): Promise<WhyReport> {
  const { latchkeyNamespace, maximumKeyTtl, userPrefix: user, teamPrefix: team } = flags;
  const raw = await cluster.get(resources.ownedAccessKeys, { name });
  const config = { namespace: latchkeyNamespace, maximumKeyTtl, prefixes: { user, team } };
  const live = await readLiveKey(raw, config, cluster);
  const own = keyItem(raw, live, now);
  const [verb, resource, objectName] = words;
  const asked =
    verb === undefined || resource === undefined
      ? { found: [], missing: [] }
      : await requestItems(
          {
            verb,
            resource,
            name: objectName,
            namespace: flags.allNamespaces ? undefined : cluster.choice.namespace,
          },
          live,
          { cluster, now },
        );
  return {
    object: own.object,
    found: [own, ...(token === undefined ? [] : tokenItems(token, live, now)), ...asked.found],
    missing: [...live.missing, ...asked.missing],
  };
}

async function whyToken({ name, cluster }: Question): Promise<WhyReport> {
  const raw = await cluster.get(resources.endpointTokens, { name });
  const item = explainToken(parseEndpointToken(raw));
  return { object: item.object, found: [item], missing: [] };
}
