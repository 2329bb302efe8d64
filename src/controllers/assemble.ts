import { fieldManager, group, ownObjects, versionAnnotation } from "../api/names.ts";
import { Certificates, type ServiceNames } from "../certificates/certificates.ts";
import { BodyLimiter } from "../kube/client/body-limiter.ts";
import { createClient, type SizeOf } from "../kube/client/client.ts";
import type { Transport } from "../kube/client/transport.ts";
import { EventRecorder } from "../kube/event-recorder.ts";
import { createListWatch } from "../kube/informer/list-watch.ts";
import { Recovery } from "../kube/informer/recovery.ts";
import type { ElectionEnd, LeaseNotes, LeaseTimes } from "../kube/leader-election.ts";
import type { ProcessConnectionDeps } from "../kube/process-connection.ts";
import { latchkeyVersion } from "../runtime/latchkey-version.ts";
import type { ProcessPart } from "../runtime/run-process.ts";
import { Yielder } from "../runtime/yielder.ts";
import { centralProgram } from "./central-program.ts";
import { createController } from "./controller.ts";
import type { Informers } from "./informers.ts";
import { policyReport } from "./policy-report.ts";
import { newElection, openFenced, ProcessTransports, sizeOfIn } from "./process-transports.ts";
import type { ControllerOptions, World } from "./world.ts";

/** Options of a controller process; `identity` is its name in the Lease. */
export interface AssemblyOptions extends ControllerOptions {
  readonly identity: string;
  readonly lease: LeaseTimes;
  /** Maximum bytes of request bodies, and of their responses, that are in memory at a time. */
  readonly maximumBodyBytesInFlight: number;
}

/** A controller with its transports, its Lease and the certificates of its issuer. */
export interface Assembly {
  readonly informers: Informers<World>;
  /**
   * Runs the informers, waits for the Lease and leads, until the signal aborts or the Lease is
   * lost.
   */
  run(signal: AbortSignal): Promise<ElectionEnd>;
  /** The certificates of the issuer, which every replica runs. */
  issuerCertificates(names: ServiceNames): Certificates;
  /** Says which policies of the cluster are not those of Latchkey, in every replica. */
  readonly policies: ProcessPart;
  /** Closes every connection, including those with requests in flight. */
  close(): Promise<void>;
}

/** Builds a controller process without its HTTP server; nothing runs yet. */
export function assembleController(
  options: AssemblyOptions,
  deps: ProcessConnectionDeps,
): Assembly {
  const { clock, random, log, metrics } = deps;
  const yielder = new Yielder(clock);
  const transports = new ProcessTransports(deps, yielder);
  const recovery = new Recovery();
  const { namespace, identity, lease: times, writers: connections } = options;
  const notes: LeaseNotes = (kept) => ({ ...kept, [versionAnnotation]: latchkeyVersion });
  const lease = { namespace, name: ownObjects.lease, identity, times, fieldManager, notes };
  const election = newElection(lease, transports, { ...deps, recovery });
  const bodies = new BodyLimiter(options.maximumBodyBytesInFlight);
  // Copies have their own connections: kube-apiserver may take 100 ms for a write of a RoleBinding,
  // and a hundredth of that for a Secret.
  const fenced = (pool: string): Transport =>
    openFenced({ pool, connections, bodies }, transports, { election, metrics });
  const [copies, rest] = [fenced("copies"), fenced("rest")];
  // Not fenced by the Lease: every replica reports, and every replica keeps the certificates.
  const ownTransport = transports.open(3);
  const ownClient = createClient(ownTransport, fieldManager);
  const events = new EventRecorder({
    client: ownClient,
    clock,
    log,
    reporter: `${group}/latchkey`,
    identity: options.identity,
  });
  const sizeOf: SizeOf = (resource, ref) => sizeOfIn(controller.informers.stores)(resource, ref);
  const copyClient = createClient(copies, fieldManager, sizeOf);
  const client = createClient(rest, fieldManager, sizeOf);
  const controller = createController(centralProgram(options, clock), {
    clientOf: (queue) => (queue === "copy" || queue === "outbox" ? copyClient : client),
    listWatch: createListWatch(rest, clock),
    yielder,
    events,
    recovery,
    clock,
    random,
    log,
    metrics,
  });

  let followed = Promise.resolve();
  return {
    informers: controller.informers,
    async run(signal) {
      const following = new AbortController();
      followed = controller.follow(following.signal);
      const end = await election.run({ signal, onLeading: (leading) => controller.lead(leading) });
      following.abort();
      return end;
    },
    issuerCertificates: (names) =>
      new Certificates("issuer", names, {
        client: ownClient,
        listWatch: createListWatch(ownTransport, clock),
        clock,
        yielder,
        random,
        log,
        metrics,
      }),
    policies: policyReport(namespace, { client: ownClient, clock, log, metrics }),
    async close() {
      await transports.close();
      await followed;
    },
  };
}
