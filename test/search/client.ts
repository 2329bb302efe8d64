import type { Client } from "../../src/kube/client/client.ts";
import { type Call, lost, type Outcome, type Server, tooManyRequests } from "./server.ts";

/** How a request fails. */
export type Broken = "lose-request" | "lose-answer" | "too-many-requests";

/** Whether a word is one of {@link Broken}. */
export function isBroken(word: string): word is Broken {
  return ["lose-request", "lose-answer", "too-many-requests"].includes(word);
}

/** Where the requests of a client arrive. */
export interface ClientDeps {
  readonly send: (call: Call) => Outcome;
  /** Called with a request that is lost, and may arrive later. */
  readonly late: (call: Call) => void;
  readonly server: () => Server;
}

/** The client of src over a server that is a value. */
export function clientOf({ send, late, server }: ClientDeps, broken?: Broken): Client {
  async function sent(call: Call): Promise<unknown> {
    const isWrite = !call.verb.startsWith("get") && !(call.verb === "create" && call.isDryRun);
    if (broken === "lose-request" && isWrite) late(call);
    const isSent = broken === undefined || broken === "lose-answer";
    const reply = isSent ? send(call) : undefined;
    const outcome = broken === "too-many-requests" ? tooManyRequests(call) : lost(call);
    const { answer, error } = {
      answer: undefined,
      error: undefined,
      ...(broken === undefined ? reply : outcome),
    };
    if (error !== undefined) throw error;
    return answer;
  }
  return {
    get: (resource, ref) => sent({ verb: "get", resource, ref }),
    getMetadata: (resource, ref) => sent({ verb: "get-metadata", resource, ref }),
    create: (resource, object, options) =>
      sent({ verb: "create", resource, object, isDryRun: options?.dryRun === true }),
    review: async (_, spec) => ({ status: reviewed(spec["user"], server()) }),
    replace: (resource, object) => sent({ verb: "replace", resource, object }),
    patch: (resource, ref, patch) => sent({ verb: "patch", resource, ref, patch }),
    delete: (resource, ref, preconditions) =>
      sent({ verb: "delete", resource, ref, preconditions }),
  };
}

/** The answer of the RBAC authorizer, as far as Latchkey reads it: the bindings of a user. */
function reviewed(user: unknown, { objects }: Server): object {
  const bindings = [...objects.values()].filter(({ subjects }) =>
    subjects?.some(({ name }) => name === user),
  );
  const reason = bindings.map(({ roleRef, metadata: { namespace, name } }) =>
    roleRef?.kind === "Role"
      ? `RoleBinding "${name}/${namespace ?? ""}" `
      : `ClusterRoleBinding "${name}" `,
  );
  return { allowed: bindings.length > 0, reason: `RBAC: allowed by ${reason.join("allowed by ")}` };
}
