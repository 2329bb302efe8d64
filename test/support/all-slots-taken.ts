import type { Slots } from "../../src/kube/slots.ts";
import { settled } from "./test-clock.ts";

/** Resolves when no slot is free. */
export async function allSlotsTaken(slots: Slots): Promise<void> {
  const probe = (): void => {};
  while (slots.take(probe)) {
    slots.give();
    await settled();
  }
  slots.forget(probe);
}
