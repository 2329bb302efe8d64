import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Short files whose control plane ends with them come first, then projects whose files wait longest,
 * so that the others use the processors meanwhile.
 */
const order = ["cluster", "dedicated", "product", "product-keys", "unit"];

/** On a new machine it takes two minutes of one processor, which no other file takes. */
const firstOfAll = "test/house/patterns.test.ts";

/** Starts the files of a run project by project, and in each the longest of the last run first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) =>
      moduleId.endsWith(firstOfAll) ? -1 : order.indexOf(project.name);
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}
