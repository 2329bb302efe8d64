import { annotations, fieldManager, ownObjects } from "../../src/api/names.ts";
import { keyOf, type Manifest } from "../../src/api/object.ts";
import { parseMetadata } from "../../src/api/parse.ts";
import type { AssemblyOptions } from "../../src/controllers/assemble.ts";
import type { ProcessConnectionDeps } from "../../src/kube/process-connection.ts";
import { centralProgram } from "../../src/controllers/central-program.ts";
import { createController } from "../../src/controllers/controller.ts";
import { type Client, createClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/kube-error.ts";
import { EventRecorder } from "../../src/kube/event-recorder.ts";
import { mostOwnResponseBytes } from "../../src/kube/client/exchange.ts";
import { LeaderElection } from "../../src/kube/leader-election.ts";
import { createListWatch } from "../../src/kube/informer/list-watch.ts";
import { createTransport } from "../../src/kube/client/transport.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import type { Clock } from "../../src/runtime/clock.ts";
import type { AssembleController } from "./programs.ts";

/** Latchkey's controller with a client that has a bug, which has an effect only with a fault. */
function controllerWith(breaking: (client: Client, clock: Clock) => Client): AssembleController {
  return (
    options: AssemblyOptions,
    { credentials, clock, random, log, metrics }: ProcessConnectionDeps,
  ) => {
    const transport = createTransport({
      credentials,
      clock,
      connections: options.writers,
      timeoutMs: 30_000,
      mostBytes: mostOwnResponseBytes,
    });
    const client = createClient(transport, fieldManager);
    const { identity, lease: times, namespace } = options;
    const election = new LeaderElection({
      client,
      clock,
      random,
      log,
      leading: metrics.gauge("leader_election_master_status", { name: ownObjects.lease }),
      lease: { namespace, name: ownObjects.lease },
      identity,
      times,
    });
    const events = new EventRecorder({ client, clock, log, reporter: "test", identity });
    const broken = breaking(client, clock);
    const controller = createController(centralProgram(options, clock), {
      clientOf: () => broken,
      listWatch: createListWatch(transport, clock),
      yielder: new Yielder(clock),
      events,
      clock,
      random,
      log,
      metrics,
    });
    return {
      informers: controller.informers,
      async run(signal) {
        void controller.follow(signal);
        return election.run({ signal, onLeading: (leading) => controller.lead(leading) });
      },
      close: () => transport.close(),
    };
  };
}

/** Never writes an object again after an update of it was rejected, and assumes success. */
export const givesUp: AssembleController = controllerWith((client) => {
  const givenUp = new Set<string>();
  return {
    ...client,
    async replace(resource, object) {
      const key = `${resource.plural} ${keyOf(object.metadata)}`;
      if (givenUp.has(key)) return client.get(resource, object.metadata);
      try {
        return await client.replace(resource, object);
      } catch (error) {
        if (!isKubeError(error, "ServerError")) throw error;
        givenUp.add(key);
        return client.get(resource, object.metadata);
      }
    },
  };
});

/** Deletes and recreates an object if a replace fails. */
export const makesAnew: AssembleController = controllerWith((client) => ({
  ...client,
  async replace(resource, object) {
    try {
      return await client.replace(resource, object);
    } catch (error) {
      if (!isKubeError(error, "Conflict")) throw error;
      const { uid } = parseMetadata(await client.getMetadata(resource, object.metadata));
      await client.delete(resource, object.metadata, { uid });
      const { uid: _, resourceVersion: __, ...metadata } = object.metadata;
      return client.create(resource, { ...object, metadata });
    }
  },
}));

/** Repeats a write every 40 s after it was rejected once, even after it has succeeded. */
export const neverRests: AssembleController = controllerWith((client, clock) => ({
  ...client,
  async patch(resource, ref, patch) {
    try {
      return await client.patch(resource, ref, patch);
    } catch (error) {
      const repeat = () => {
        clock.wakeAfter(40_000, repeat);
        client.patch(resource, ref, patch).catch(() => {});
      };
      clock.wakeAfter(40_000, repeat);
      throw error;
    }
  },
}));

/** Assumes that objects of one kind do not exist, and never deletes them. */
function neverDeletes(plural: string): AssembleController {
  return controllerWith((client) => ({
    ...client,
    async delete(resource, ref, preconditions) {
      if (resource.plural !== plural) await client.delete(resource, ref, preconditions);
    },
  }));
}

/** Never removes an orphaned RoleBinding. */
export const keepsBindings: AssembleController = neverDeletes("rolebindings");

/** Never removes an orphaned copy. */
export const keepsCopies: AssembleController = neverDeletes("secrets");

/** Leaves the data in a placeholder that is to be emptied. */
export const keepsData: AssembleController = controllerWith((client) => ({
  ...client,
  async replace(resource, object) {
    return isToBeEmptied(object)
      ? client.get(resource, object.metadata)
      : client.replace(resource, object);
  },
}));

/** Deletes a placeholder that is to be emptied. */
export const deletesEmptied: AssembleController = controllerWith((client) => ({
  ...client,
  async replace(resource, object) {
    if (!isToBeEmptied(object)) return client.replace(resource, object);
    const { uid } = parseMetadata(await client.getMetadata(resource, object.metadata));
    await client.delete(resource, object.metadata, { uid });
    return object;
  },
}));

/** Deletes an entry of an outbox, which then withdraws nothing, if it cannot write a tombstone. */
export const deletesWithdrawn: AssembleController = controllerWith((client) => ({
  ...client,
  async replace(resource, object) {
    try {
      return await client.replace(resource, object);
    } catch (error) {
      if (object.metadata.annotations?.[annotations.withdrawn] === undefined) throw error;
      const { uid } = parseMetadata(await client.getMetadata(resource, object.metadata));
      await client.delete(resource, object.metadata, { uid });
      return object;
    }
  },
}));

/** Loses an annotation of users whenever it writes a Secret. */
export const losesKeys: AssembleController = controllerWith((client) => ({
  ...client,
  async replace(resource, object) {
    const { [annotations.syncKeys]: _, ...noted } = object.metadata.annotations ?? {};
    return client.replace(resource, {
      ...object,
      metadata: { ...object.metadata, annotations: noted },
    });
  },
}));

function isToBeEmptied({ kind, metadata }: Manifest): boolean {
  return kind === "Secret" && metadata.annotations?.[annotations.copyOf] === undefined;
}

/**
 * Never clears an error of an object, even after a restart: a status with Stalled is never updated.
 */
export const staysWrong: AssembleController = stubborn(new Set());

function stubborn(stalled: Set<string>): AssembleController {
  return controllerWith((client) => ({
    ...client,
    async patch(resource, ref, patch) {
      const key = `${resource.plural} ${keyOf(ref)}`;
      if (stalled.has(key) && patch.subresource === "status") return client.get(resource, ref);
      if (JSON.stringify(patch.body).includes('"Stalled"')) stalled.add(key);
      return client.patch(resource, ref, patch);
    },
  }));
}
