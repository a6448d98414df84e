import { tell } from "./shared.js";

/** Something that somebody gave to be done. */
export interface Given<C> {
  readonly command: C;
  /** `taken`: it is done, but no result shows it yet. */
  readonly state: "sending" | "failed" | "taken";
  /** Why it failed. */
  readonly error: unknown;
}

/**
 * Commands whose effect is not on display yet, newest first: they outlive the component that gave them, can be given again when
 * they failed, and leave when a result shows them (`settle`), so that nothing is seen twice or not at all.
 */
export class Outbox<C> {
  private all: readonly Given<C>[] = [];
  private readonly listeners = new Set<() => void>();

  /**
   * @param give has it done; `instead` takes another command's place, such as one with a better time
   * @param idOf what stays the same when a command is given again
   */
  constructor(
    private readonly give: (command: C, instead: (command: C) => void) => Promise<unknown>,
    private readonly idOf: (command: C) => unknown,
  ) {}

  /** Those that are not on display yet: the same array until something changes. */
  readonly entries = (): readonly Given<C>[] => this.all;

  /** Calls `listener` whenever `entries` has changed; gives what ends that. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
      this.forgetTaken();
    };
  };

  /** Gives a command, or one that failed again; nothing while it is being given. */
  async send(command: C): Promise<void> {
    if (this.all.some(({ command: other, state }) => state === "sending" && this.idOf(other) === this.idOf(command))) {
      return;
    }
    this.put(command, { command, state: "sending", error: undefined });
    let present = command;
    const instead = (next: C): void => {
      this.put(present, { command: next, state: "sending", error: undefined }, false);
      present = next;
    };
    try {
      await this.give(command, instead);
      this.put(present, { command: present, state: "taken", error: undefined }, false);
      this.forgetTaken();
    } catch (error) {
      this.put(present, { command: present, state: "failed", error }, false);
    }
  }

  /** Gives it up. */
  discard(command: C): void {
    this.settle((other) => this.idOf(other) === this.idOf(command));
  }

  /** Removes those that are on display. */
  settle(shown: (command: C) => boolean): void {
    this.keep(({ command }) => !shown(command));
  }

  /** What was taken while nobody looks need not be waited for: who looks next begins with it. */
  private forgetTaken(): void {
    if (this.listeners.size === 0) {
      this.keep(({ state }) => state !== "taken");
    }
  }

  private put(place: C, given: Given<C>, add = true): void {
    const at = this.all.findIndex(({ command }) => this.idOf(command) === this.idOf(place));
    if (at >= 0) {
      this.set(this.all.map((other, i) => (i === at ? given : other)));
    } else if (add) {
      this.set([given, ...this.all]);
    }
  }

  private keep(which: (given: Given<C>) => boolean): void {
    const kept = this.all.filter(which);
    if (kept.length < this.all.length) {
      this.set(kept);
    }
  }

  private set(all: readonly Given<C>[]): void {
    this.all = all;
    [...this.listeners].forEach((changed) => tell(changed));
  }
}
