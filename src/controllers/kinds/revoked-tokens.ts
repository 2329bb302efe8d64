import { components, labels } from "../../api/names.ts";
import { parseLatchkeyMetadata, recordAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import type { RevokedEntry } from "../../domain/endpoint-token/revocation.ts";
import {
  parseEntry,
  planRevokedTokens,
  type RevokedTokensConfigMap,
} from "../../domain/endpoint-token/revoked-tokens.ts";
import type { Change } from "../../kube/informer/store.ts";
import type { CentralEnqueuer } from "../central-enqueuer.ts";
import type { ReconcileDecision } from "../question.ts";
import { revokedTokensKey } from "../queues.ts";
import type { Reconciler } from "../reconciler.ts";
import { noteLost, forgetExpiredRevocations } from "../revocations.ts";
import { indexes } from "../stores.ts";
import type { World } from "../world.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/** ConfigMaps with the revoked tokens, in Latchkey's own namespace; one key for all of them. */
export function revokedTokensKind({
  namespace,
}: KindContext): WatchedKind<RevokedTokensConfigMap, World> {
  return {
    listOptions: {
      resource: resources.configMaps,
      namespace,
      labelSelector: `${labels.component}=${components.revokedTokens}`,
    },
    parse: parseRevokedTokens,
    publishedIn: ["revoked"],
    enqueue,
    enqueueAll: async ({ queues }) => queues.revokedTokens.add(revokedTokensKey, "high"),
    reconciler: revokedTokensReconciler,
  };
}

/** Parses one of the ConfigMaps; throws a TypeError that names the missing metadata field. */
export function parseRevokedTokens(raw: unknown): RevokedTokensConfigMap {
  const entries = new Map<string, RevokedEntry>();
  const invalid: string[] = [];
  for (const [jti, value] of Object.entries(recordAt(raw, "data"))) {
    const entry = typeof value === "string" ? parseEntry(value) : undefined;
    if (entry === undefined) invalid.push(jti);
    else entries.set(jti, entry);
  }
  return { metadata: parseLatchkeyMetadata(raw), entries, invalid };
}

/**
 * Enqueues the tokens whose entries arrived or left: their finalization waits for the entry. The
 * entries of a deleted ConfigMap are written again.
 */
function enqueue(
  { before, after }: Change<RevokedTokensConfigMap>,
  enqueuer: CentralEnqueuer,
): void {
  const { queues, stores } = enqueuer;
  if (after === undefined) noteLost(before?.entries ?? new Map(), enqueuer);
  queues.revokedTokens.add(revokedTokensKey, "high");
  for (const [one, other] of [
    [before, after],
    [after, before],
  ]) {
    for (const jti of one?.entries.keys() ?? []) {
      if (other?.entries.has(jti) === true) continue;
      for (const key of stores.tokens.keysBy(indexes.uid, jti)) queues.token.add(key, "high");
    }
  }
}

/**
 * Interval between writes, in milliseconds: the first deletion of many is written at once, and all
 * that follow within the interval in one write.
 */
const paceMs = 100;

/** Writes the decisions about tokens into the ConfigMaps; the tokens that wait report a failure. */
export const revokedTokensReconciler: Reconciler<World> = {
  queue: "revokedTokens",
  workers: () => 1,
  decide: (_, world) => decide(world),
  reported: (_, __, { enqueuer }) => enqueuer.pendingRevocations(),
};

function decide(world: World): ReconcileDecision {
  const { stores, memory, clock, options } = world;
  const early = memory.revocationsAt - clock.monotonic();
  if (early > 0) return { decideAt: clock.now() + early };
  forgetExpiredRevocations(world);
  const lists = [...stores.revokedTokens.values()];
  const observed = { lists, decisions: memory.revocations, namespace: options.namespace };
  const plan = planRevokedTokens(observed, clock.now());
  if (plan.steps.length > 0) memory.revocationsAt = clock.monotonic() + paceMs;
  return plan;
}
