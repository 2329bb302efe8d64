import { parseMetadata } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import type { ObjectRef } from "../../api/object.ts";
import type { OutboxIdentity } from "../../domain/outbox/agent-state.ts";
import type { Client } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { heldSpec, nextLease, parseLease } from "../../kube/lease-record.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/log.ts";

/** What the Lease in an outbox needs of both clusters. */
interface CentralLeaseDeps {
  readonly local: Pick<Client, "getMetadata">;
  readonly central: Pick<Client, "get" | "replace">;
  readonly lease: ObjectRef;
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn">;
  readonly centralLog: Pick<Logger, "warn">;
}

const everyMs = 10_000;
/** How long the Lease counts without a renewal, in milliseconds. */
const leaseDuration = 30_000;
/** Maximum length of a holder that is repeated: another administrator decides what it is. */
const longestHolder = 63;

/**
 * The Lease in the outbox: its holder is the cluster that the outbox belongs to, and its renewals
 * are the heartbeat. Every replica reads it, and the leader renews it.
 */
export class CentralLease {
  readonly #deps: CentralLeaseDeps;
  #uid: string | undefined;
  #identity: OutboxIdentity = { kind: "unknown" };

  constructor(deps: CentralLeaseDeps) {
    this.#deps = deps;
  }

  /** What is known of the holder; a central cluster that is not heard changes nothing. */
  get identity(): OutboxIdentity {
    return this.#identity;
  }

  /** Reads the Lease until the signal aborts, and renews it while `isLeading`. */
  async run(signal: AbortSignal, isLeading: () => boolean): Promise<void> {
    while (!signal.aborted) {
      await this.beat(isLeading());
      await sleep(everyMs, { clock: this.#deps.clock, signal });
    }
  }

  /** Reads the Lease, and renews it if this process leads; never rejects. */
  async beat(isLeading: boolean): Promise<void> {
    const { central, lease, clock, log, centralLog } = this.#deps;
    try {
      const uid = (this.#uid ??= await this.#readUid());
      const observed = parseLease(await central.get(resources.leases, lease));
      const holder = observed.spec.holderIdentity;
      if (holder !== "" && holder !== uid) {
        this.#identity = { kind: "other", uid: holder.slice(0, longestHolder) };
        return;
      }
      if (isLeading) {
        const spec = heldSpec(observed.spec, { identity: uid, leaseDuration, now: clock.now() });
        await central.replace(resources.leases, nextLease(observed, spec));
      }
      this.#identity = holder === uid || isLeading ? { kind: "own" } : { kind: "unknown" };
    } catch (error) {
      // What a central cluster answers may be anything.
      const cause = isKubeError(error)
        ? { code: error.code, why: error.message }
        : { code: "Unexpected", error };
      const about = this.#uid === undefined ? log : centralLog;
      about.warn(cause, "reading or renewing the Lease in the outbox failed");
    }
  }

  /** The uid of kube-system, which stands for the cluster. */
  async #readUid(): Promise<string> {
    const found = await this.#deps.local.getMetadata(resources.namespaces, { name: "kube-system" });
    return parseMetadata(found).uid;
  }
}
