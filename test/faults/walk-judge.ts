import type { Snapshot } from "../support/snapshot.ts";
import { difference } from "./oracles.ts";
import {
  type WalkResult,
  reachAfresh,
  firstRequester,
  isCopy,
  type Moment,
  type Part,
  stateOf,
  takeWalk,
} from "./walk-play.ts";
import type { State } from "./walk-state.ts";
import type { Walk } from "./walk-steps.ts";
import type { WalkKind } from "./walk-values.ts";
import { annotations } from "../../src/api/names.ts";

/** A valid object of each kind. */
const rightObjects: Readonly<Record<WalkKind, NonNullable<State["object"]>>> = {
  SharedSecret: {
    spec: {
      data: { password: "cmlnaHQ=" },
      owner: { team: "ops" },
      access: [{ name: "readers", verbs: ["get"], users: ["alice"], teams: ["devs"] }],
    },
    annotations: { [annotations.syncToProjects]: "web, pay-*" },
    labels: {},
    by: firstRequester,
  },
  OwnedAccessKey: {
    spec: { subject: "the-ci", key: "lk.the-right.0123456789" },
    annotations: {},
    labels: {},
    by: firstRequester,
  },
  DirectClusterEndpointToken: {
    spec: { ttl: 400_000 },
    annotations: {},
    labels: {},
    by: firstRequester,
  },
};

/** The problems of a walk (an empty list if it passed), and its properties. */
export interface Judgement {
  readonly problems: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

/** Compares walks with the result of their last states alone. */
export class Judge {
  readonly #right = new Map<string, Promise<Pick<WalkResult, "endState" | "problems">>>();

  async judge(part: Omit<Part, "subject">, { steps, ...subject }: Walk): Promise<Judgement> {
    const walked = await takeWalk({ ...part, subject }, steps, stateOf(rightObjects[subject.kind]));
    const counts = { ...walked.counts };
    if (walked.problems.length > 0) return { problems: walked.problems, counts };
    const { states, isExact } = whatCounts(walked.history);
    const { assemble: _, ...own } = part;
    const fresh = await reachAfresh({ ...own, subject }, states, walked);
    const right = await this.#rightState({ ...own, subject }, walked.by);
    const problems = [
      ...fresh.problems.map((problem) => `afresh: ${problem}`),
      ...compare(fresh.endState, walked.endState, isExact).map(
        (problem) => `end state: ${problem}`,
      ),
      ...right.problems.map((problem) => `right state: ${problem}`),
      ...compare(right.endState, walked.rightState, true).map(
        (problem) => `right again: ${problem}`,
      ),
    ];
    return { problems, counts };
  }

  #rightState(part: Part, by: string): Promise<Pick<WalkResult, "endState" | "problems">> {
    const { kind, name } = part.subject;
    const title = `${kind} ${name} ${by}`;
    const known =
      this.#right.get(title) ??
      reachAfresh(part, [stateOf({ ...rightObjects[kind], by })], { bornAt: 0, endedAt: 0 });
    this.#right.set(title, known);
    return known;
  }
}

/**
 * The states that determine the end state: the last one and, if that one keeps existing copies,
 * those since the copies last matched a state. They determine it exactly if the controller became
 * idle in each.
 */
function whatCounts(history: readonly Moment[]): {
  readonly states: readonly State[];
  readonly isExact: boolean;
} {
  const isFree = ({ state, settled, keepsCopies }: Moment) =>
    settled && (!keepsCopies || state.object === undefined);
  const moments = history.slice(Math.max(0, history.findLastIndex(isFree)));
  return {
    states: moments.map(({ state }) => state),
    isExact: moments.every(({ settled }) => settled),
  };
}

function compare(expected: Snapshot, found: Snapshot, isExact: boolean): readonly string[] {
  const compared = (snapshot: Snapshot) =>
    isExact ? snapshot : snapshot.filter((text) => !isCopy(text));
  return difference(compared(expected), compared(found)).map((line) =>
    line.length > 1_000 ? `${line.slice(0, 1_000)}...` : line,
  );
}

/** A step of any walk. */
export interface Step {
  readonly action: unknown;
  readonly settled: boolean;
}

/** A short description of a step. */
export function stepText({ action, settled }: Step): string {
  const text = JSON.stringify(action, (_, value: unknown) =>
    typeof value === "string" && value.length > 80
      ? `${value.slice(0, 20)}... (${value.length})`
      : value,
  );
  return `${text.length > 600 ? `${text.slice(0, 600)}...` : text}${settled ? "" : " and at once"}`;
}
