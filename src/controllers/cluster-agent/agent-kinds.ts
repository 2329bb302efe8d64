import { stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import type { Source } from "../../domain/sync/copy.ts";
import type { TargetWrites } from "../../domain/sync/target-writes.ts";
import type { InformerDeps } from "../../kube/informer/informer-options.ts";
import { rawKey } from "../../kube/informer/raw-object.ts";
import { observedSource } from "../../tokens/observed-data.ts";
import {
  copyKind,
  copyReconcilerWith,
  placeholderKind,
  unmanagedSecretKind,
} from "../kinds/copy.ts";
import { namespaceKind, resourceQuotaKind } from "../kinds/namespace.ts";
import { sourceKind } from "../kinds/source.ts";
import type { KindContext, Watched, WatchedKind } from "../kinds/watched-kind.ts";
import {
  type ClusterReportOptions,
  clusterReportReconciler,
  reportKeys,
} from "./cluster-report.ts";
import { sourceReportReconciler } from "./source-report.ts";
import { mostEntries } from "./translated-list-watch.ts";

/** What an agent watches with, and what its reconcilers ask. */
interface AgentKindsOptions extends ClusterReportOptions {
  /** Of the informer of the outbox. */
  readonly central: InformerDeps;
  readonly writes: () => TargetWrites;
}

/** What the agent of a connected cluster watches. */
export function agentKinds({ central, writes, ...options }: AgentKindsOptions): Watched {
  return {
    kinds: (context, watch) => ({
      sharedSecrets: watch(outboxKind(context), central),
      namespaces: watch(namespaceKind(context)),
      copies: watch({ ...copyKind(context), reconciler: copyReconcilerWith(writes) }),
      placeholders: watch(placeholderKind(context)),
      // A Secret at the target of a source that is not listed yet is read when its copy is created.
      unmanagedSecrets: watch({
        ...unmanagedSecretKind(context),
        listedAfter: [resources.namespaces],
      }),
      resourceQuotas: watch(resourceQuotaKind()),
      keepsUnknown: true,
    }),
    reconcilers: [clusterReportReconciler(options)],
  };
}

/** Entries of the outbox, as sources. */
function outboxKind(context: KindContext): WatchedKind<Source> {
  const kind = sourceKind(context);
  return {
    ...kind,
    parse(raw) {
      const { sharedSecrets } = context.stores();
      const isExcess = sharedSecrets.size >= mostEntries && !sharedSecrets.has(rawKey(raw));
      return isExcess ? undefined : observedEntry(raw, context);
    },
    async enqueueAll(enqueuer) {
      await kind.enqueueAll?.(enqueuer);
      for (const key of reportKeys) enqueuer.queues.clusterReport.add(key, "low");
    },
    reconciler: sourceReportReconciler,
  };
}

/**
 * The source of an entry. If it has an option that this version does not know, its copies stay as
 * they are.
 */
function observedEntry(raw: unknown, { digestOf }: KindContext): Source {
  const source = observedSource(raw, digestOf);
  const unsupported = stringAt(raw, "unsupported");
  if (unsupported === undefined) return source;
  const message =
    `${unsupported.slice(0, longestName)}: the agent of this cluster does not support it; ` +
    "upgrade the agent";
  const problem = { reason: "UnsupportedOption", message } as const;
  const options = { ...source.options, projects: [], projectsAreUnreadable: true as const };
  return { ...source, options: { ...options, problem } };
}

const longestName = 128;
