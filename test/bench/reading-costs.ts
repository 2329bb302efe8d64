import { leastCost, repeatedParts, textOf, textReaders } from "../fuzz/reading-costs.ts";
import { type Row, row } from "./report.ts";

const attempts = 5;
const shownRows = 10;

/** The slowest texts that others send, each as long as it is read, one of each reader. */
export async function readingRows(): Promise<readonly Row[]> {
  const slowest: { readonly what: string; readonly ms: number }[] = [];
  for (const reader of textReaders) {
    let most = { what: "", ms: -1 };
    for (const part of repeatedParts) {
      const ms = await leastCost(reader, textOf(reader, part, reader.most), attempts);
      if (ms > most.ms) most = { what: `${reader.name}, of ${JSON.stringify(part)}`, ms };
    }
    slowest.push(most);
  }
  return slowest
    .toSorted((one, other) => other.ms - one.ms)
    .slice(0, shownRows)
    .map(({ what, ms }) => row(`read ${what}`, [ms, "ms"], { goal: "<= 10 ms" }));
}
