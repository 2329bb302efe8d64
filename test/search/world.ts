import type { ObjectRef } from "../../src/api/object.ts";
import type { QueueName } from "../../src/controllers/queues.ts";
import type { Place } from "./process.ts";
import type { Given, UserObject } from "./server.ts";

/** The kind of an object, and the cluster that has it: the central one by default. */
interface At {
  readonly plural: string;
  readonly at?: Place;
}

/** Something that a user does. */
export type UserAction =
  /** Creates an object, or changes one; a change of an object that does not exist has no effect. */
  | (At & { readonly do: "apply" | "change"; readonly object: UserObject })
  | (At & { readonly do: "delete"; readonly ref: ObjectRef })
  /** Returns etcd to the state at the begin of the search. */
  | { readonly do: "restore" };

/** What may go wrong. */
export type Fault =
  /** The request, or its answer, is lost; the write may be committed later. */
  | "lose-request"
  | "lose-answer"
  | "too-many-requests"
  /** A watch ends with 410. */
  | "relist"
  /** A new process with fresh caches leads, in either cluster. */
  | "crash"
  /** A standby with its own caches leads. */
  | "failover";

/** A small world to search. */
export interface SearchWorld {
  readonly name: string;
  readonly objects: readonly Given[];
  /** What the connected cluster `east` has, if its agent is that of src. */
  readonly connected?: readonly Given[];
  /** What users may do, by name; each once. */
  readonly menu: Readonly<Record<string, UserAction>>;
  readonly userActions: number;
  readonly faults: readonly Fault[];
  /** How many faults happen. */
  readonly mostFaults: number;
  /** The queues with workers. */
  readonly queues: readonly QueueName[];
  /** Whether time ends what users have: keys and tokens. */
  readonly hasLifetimes: boolean;
  /** Whether a policy may change what is written, which is written again and again for ever. */
  readonly hasFights: boolean;
  /** Whether time also passes while a request is in flight. */
  readonly hasSlowAnswers?: boolean;
  /** Whether the search begins at rest, or with a new leader. */
  readonly begins: "at rest" | "with a new leader";
}
