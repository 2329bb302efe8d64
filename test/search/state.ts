import type { Call, Server } from "./server.ts";
import type { Basis, Leader } from "./leader.ts";
import type { Place } from "./process.ts";
import type { Raw } from "../specification/raw.ts";
import type { Event, View } from "./view.ts";

/** A watch: what its informer knows, and the events that are still to arrive. */
export interface Stream {
  readonly view: View;
  readonly pending: readonly Event[];
  /** Whether etcd was restored since the last list: the watch receives nothing. */
  readonly isStale: boolean;
}

/** Whose code it is: that of the central controller, or of the agent of the connected cluster. */
export type Actor = "controller" | "agent";

/** A process of a controller or an agent. */
export interface Instance {
  readonly actor: Actor;
  readonly streams: readonly Stream[];
  readonly leader?: Leader | undefined;
}

/** A write without a reader of its answer, which may still be committed. */
export interface LateWrite {
  readonly by: Actor;
  readonly place: Place;
  readonly call: Call;
  readonly basis: Basis;
  /** The ids of the objects that the same reconcile has written before. */
  readonly own: readonly string[];
}

/** The API servers of both clusters; the connected one is empty in most worlds. */
export interface Clusters {
  readonly server: Server;
  readonly connected: Server;
}

/** A state of the machine, as an immutable value. */
export interface State extends Clusters {
  readonly instances: readonly Instance[];
  readonly late: readonly LateWrite[];
  /** The actions of the menu that are left, and how many of them users may take. */
  readonly menu: readonly string[];
  readonly userActions: number;
  readonly faults: number;
}

/** A committed write of a controller. */
export interface Committed extends LateWrite {
  readonly before: Server;
  readonly after: Server;
  /** Whether the write has changed anything. */
  readonly isChange: boolean;
  /** Whether another leader may have written since it was sent. */
  readonly isLate: boolean;
}

/** A write of a plan, as JSON; without dry runs and Events. */
export interface PlannedWrite {
  readonly verb: "create" | "replace" | "patch" | "delete";
  readonly plural: string;
  readonly key: string;
  /** The object that is sent, or the patch. */
  readonly object: Raw | undefined;
}

/** What must hold at every write. */
export interface Judge {
  readonly planned: (
    writes: readonly PlannedWrite[],
    basis: Basis,
    live: Server,
  ) => readonly string[];
  readonly committed: (committed: Committed) => readonly string[];
}

/** A state after an action, and what was wrong with the action. */
export interface Step {
  readonly state: State;
  readonly violations: readonly string[];
}
