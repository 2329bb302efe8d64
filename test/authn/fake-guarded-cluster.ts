import { GuardedNamespaces } from "../../src/authn/guarded-namespaces.ts";
import { connectedPolicies } from "../../src/domain/gateway/connected-policy.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import type { ListWatch } from "../../src/kube/informer/list-watch.ts";
import { provingWatchTimes } from "../../src/kube/informer/watch-times.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { shippedPolicy } from "../support/connected-policies.ts";
import { FakeListWatch, type RawObject, rawObject } from "../support/fake-list-watch.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";

/** A namespace of a project, with these labels in addition. */
export function namespaceOf(project: string | undefined, name: string, more: object = {}) {
  const labels = project === undefined ? {} : { "management.service/project": project };
  return rawObject({ name, labels: { ...labels, ...more } });
}

/** What a cluster answers about its policy. */
export type PolicyAnswer = "shipped" | "weak" | "NotFound" | "Forbidden" | "Network";

/** A cluster of which the namespaces are followed; a test changes what it answers. */
export function guardedCluster(
  namespaces: readonly RawObject[],
  {
    listWatch = new FakeListWatch({ namespaces }),
    // The watches of the fake never end.
    freshForMs = Infinity,
    cluster = "east",
  }: {
    readonly listWatch?: ListWatch;
    readonly freshForMs?: number;
    readonly cluster?: string;
  } = {},
) {
  const [clock, log] = [new TestClock(), recordingLog()];
  const state: { answer: PolicyAnswer; changes: number; asked: string[] } = {
    answer: "shipped",
    changes: 0,
    asked: [],
  };
  const shipped = shippedPolicy(connectedPolicies.projectAssignment.name, "2025-01-01T00:00:00Z");
  const weak = { ...shipped.policy, spec: { failurePolicy: "Ignore" } };
  const guarded = new GuardedNamespaces(
    { target: "Cluster", cluster },
    {
      listWatch,
      clock,
      log,
      yielder: new Yielder(clock),
      random: () => 0.5,
      watchTimes: { ...provingWatchTimes, freshForMs },
      client: {
        async get({ plural }, { name }) {
          state.asked.push(`${plural} ${name}`);
          const { answer } = state;
          if (plural !== "validatingadmissionpolicies") return shipped.binding;
          if (answer === "weak") return weak;
          if (answer === "shipped") return shipped.policy;
          throw new KubeError("no", { code: answer, status: 0 });
        },
      },
      onChange: () => void (state.changes += 1),
    },
  );
  return { guarded, clock, log, state };
}
