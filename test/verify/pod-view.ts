import { recordAt } from "../../src/api/parse.ts";
import { admin, type Answer, type Ask, type Caller, get } from "../support/cluster-connection.ts";

/** What a user of the API server can do in a test. */
interface Asking {
  ask(caller: Caller, request: Ask): Promise<Answer>;
}

/** What pods saw that start again and again and mount Secrets. */
export interface SeenByPods {
  readonly looks: number;
  /** Sentences about Secrets that were missing or lacked a key. */
  readonly gaps: readonly string[];
}

/** Pods that mount Secrets. */
export interface PodView {
  /** The pods mount these Secrets from now on: paths of core Secrets. */
  mount(paths: readonly string[]): void;
  /** Waits until each mounted Secret was read `count` more times. */
  looks(count: number): Promise<void>;
  stop(): Promise<SeenByPods>;
}

/** Reads Secrets without a pause, as pods that start at every moment, until it is stopped. */
export function startPods(
  cluster: Asking,
  { paths, keys }: { readonly paths: readonly string[]; readonly keys: readonly string[] },
): PodView {
  let [mounted, rounds, isRunning] = [paths, 0, true];
  const gaps: string[] = [];
  const look = async (path: string): Promise<void> => {
    const answer = await cluster.ask(admin, get(path));
    const data = recordAt(answer, "data");
    const lacking = keys.filter((key) => typeof data[key] !== "string" || data[key] === "");
    // Pods that mounted the Secret before a rollout no longer count.
    if (lacking.length > 0 && mounted.includes(path))
      gaps.push(`${path}: ${answer.code}, without ${lacking.join(", ")}`);
  };
  const follow = async (): Promise<void> => {
    while (isRunning) {
      await Promise.all(mounted.map(look));
      rounds += 1;
    }
  };
  const following = follow();
  return {
    mount: (others) => void (mounted = others),
    async looks(count) {
      const until = rounds + count;
      while (rounds < until) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    async stop() {
      isRunning = false;
      await following;
      return { looks: rounds, gaps };
    },
  };
}
