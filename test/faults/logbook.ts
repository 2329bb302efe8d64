import { recordAt, stringAt } from "../../src/api/parse.ts";
import { type ApiRequest, apiRequest } from "../support/api-request.ts";
import { Ledger } from "./ledger.ts";
import type { ProxyEvents } from "../support/fault-proxy.ts";
import type { ProxyAnswer } from "../support/proxy-messages.ts";
import type { View } from "../support/visible-objects.ts";

/** A write that a process asked for; instants are milliseconds of `performance.now()`. */
export interface AskedWrite {
  readonly process: string;
  readonly at: number;
  readonly request: ApiRequest;
  /** As the ledger calls it. */
  readonly sentence: string;
  /** Undefined while it is under way, and for ever if its connection broke. */
  answer: { readonly at: number; readonly status: number; readonly sent: string } | undefined;
}

/** A write of the Lease that was carried out; the holder is empty when it was given back. */
export interface LeaseWrite {
  readonly process: string;
  readonly at: number;
  readonly holder: string;
}

/** Keeps account of which process wrote what, and when; one book for all processes of a run. */
export class Logbook {
  readonly ledger: Ledger;
  readonly writes: AskedWrite[] = [];
  readonly leases: LeaseWrite[] = [];
  readonly #touched = new Set<string>();

  /** `now` answers milliseconds of the clock that the instances of the run share. */
  constructor(view: View, now: () => number) {
    this.ledger = new Ledger(view, now);
  }

  /** Notes a write to the collection of this path. */
  touch(path: string): void {
    this.#touched.add(collectionOf(path));
  }

  /** Takes the collections that were written to since they were taken last. */
  takeTouched(): readonly string[] {
    const touched = [...this.#touched];
    this.#touched.clear();
    return touched;
  }

  /** Records the traffic of a proxy; `process` names the process behind it now. */
  eventsOf(process: () => string): ProxyEvents {
    const open = new Map<ApiRequest, AskedWrite>();
    return {
      onTraffic() {},
      onList() {},
      onWrite: (request) => {
        this.ledger.ask(request);
        const write: AskedWrite = {
          process: process(),
          at: performance.now(),
          request,
          sentence: this.ledger.asked.at(-1) ?? "",
          answer: undefined,
        };
        this.writes.push(write);
        open.set(request, write);
      },
      onCommit: (request, sent, answer) => {
        this.touch(request.path);
        this.ledger.commit(request, sent, answer);
        const write = open.get(request);
        open.delete(request);
        if (write !== undefined)
          write.answer = { at: performance.now(), status: answer.status, sent };
      },
      onLease: (sent, answer) => this.#enterLease(process(), sent, answer),
    };
  }

  /** Writes that only a leader may make: all but Events. */
  fencedWrites(process: string): readonly AskedWrite[] {
    return this.writes.filter(
      (write) => write.process === process && write.request.plural !== "events",
    );
  }

  /**
   * Sentences about processes of which one asked for a write between the writes of another,
   * `excused` ones apart.
   */
  overlaps(excused: ReadonlySet<AskedWrite> = new Set()): readonly string[] {
    const spans = [...new Set(this.writes.map(({ process }) => process))].flatMap((process) => {
      const writes = this.fencedWrites(process).filter((write) => !excused.has(write));
      const [first] = writes;
      return first === undefined
        ? []
        : [{ process, first: first.at, last: Math.max(...writes.map(({ at }) => at)) }];
    });
    spans.sort((one, other) => one.first - other.first);
    return spans.flatMap(({ process, last }, index) => {
      const next = spans[index + 1];
      return next !== undefined && next.first <= last
        ? [
            `${process} asks for a write ${Math.round(last - next.first)} ms after the first one of ${next.process}`,
          ]
        : [];
    });
  }

  #enterLease(process: string, sent: string, { status }: ProxyAnswer): void {
    if (status >= 300) return;
    this.leases.push({
      process,
      at: performance.now(),
      holder: stringAt(recordAt(JSON.parse(sent), "spec"), "holderIdentity") ?? "",
    });
  }
}

/** The collection, over all namespaces, of the object or collection that a path names. */
function collectionOf(path: string): string {
  const { plural } = apiRequest({ url: path });
  const root = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)/.exec(path)?.[0] ?? "";
  return `${root}/${plural}`;
}
