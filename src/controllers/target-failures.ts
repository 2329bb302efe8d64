import { type Key, type ObjectRef, refOf } from "../api/object.ts";
import type { ReportedFailure } from "../domain/plan/failure-history.ts";
import type { Logger } from "../runtime/log.ts";
import { Failures, type FailuresDeps } from "./failures.ts";

/** Dependencies of {@link TargetFailures}. */
export interface TargetFailuresDeps extends Omit<FailuresDeps, "onChange"> {
  /** Enqueues the status of every source of a target. */
  readonly recount: (target: ObjectRef) => void;
  readonly log: Pick<Logger, "info">;
}

/** The failures of writes to targets, indexed by namespace; each reported failure is logged. */
export class TargetFailures extends Failures {
  readonly #byNamespace = new Map<string, Set<Key>>();

  constructor({ recount, log, ...rest }: TargetFailuresDeps) {
    super({
      ...rest,
      onChange: (target, said) => {
        this.#index(target, said);
        if (said !== undefined)
          log.info(
            { controller: "copy", object: target, reason: said.reason, why: said.message },
            "writing the target Secret failed",
          );
        recount(refOf(target));
      },
    });
  }

  /** The targets in a namespace with a reported failure. */
  in(namespace: string): readonly Key[] {
    return [...(this.#byNamespace.get(namespace) ?? [])];
  }

  #index(target: Key, said: ReportedFailure | undefined): void {
    const { namespace = "" } = refOf(target);
    const named = this.#byNamespace.get(namespace) ?? new Set();
    if (said === undefined) named.delete(target);
    else named.add(target);
    if (named.size === 0) this.#byNamespace.delete(namespace);
    else this.#byNamespace.set(namespace, named);
  }
}
