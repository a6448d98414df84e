import { stableJson } from "./protocol.js";
import { tell, type Shared } from "./shared.js";

/** So long after its answer, in milliseconds, an assumption that no result bears out is given up. */
const BORNE_OUT_WITHIN = 10_000;

/** What a command is assumed to do to the values of views, by the views' names. */
type Effects = Readonly<Record<string, (value: unknown, params: Readonly<Record<string, unknown>>) => unknown>>;

/**
 * What commands that are under way are assumed to have done, shown on top of what the server said. An assumption goes when its
 * command fails, or when its command is answered and it changes nothing any more in any value of the server.
 */
export class Assumptions {
  private readonly standing = new Set<Assumption>();

  constructor(private readonly shared: () => Iterable<Shared>) {}

  /** Assumes this until `drop` is called, or `answered` and a result bears it out. */
  assume(effects: Effects): Assumption {
    const assumption = new Assumption(effects, this);
    this.standing.add(assumption);
    this.showAgain(assumption);
    return assumption;
  }

  /** The value with all that is assumed of it. */
  applied(shared: Shared, value: unknown): unknown {
    let shown = value;
    for (const assumption of this.standing) {
      shown = assumption.applied(shared, shown);
    }
    return shown;
  }

  /** Gives up what has become true. */
  review(): void {
    for (const assumption of this.standing) {
      if (assumption.isAnswered && [...this.shared()].every((shared) => assumption.isBorneOut(shared))) {
        this.drop(assumption);
      }
    }
  }

  has(assumption: Assumption): boolean {
    return this.standing.has(assumption);
  }

  drop(assumption: Assumption): void {
    if (this.standing.delete(assumption)) {
      assumption.stop();
      this.showAgain(assumption);
    }
  }

  /** Forgets all, as after a change of the caller. */
  clear(): void {
    this.standing.forEach((assumption) => assumption.stop());
    this.standing.clear();
  }

  private showAgain(assumption: Assumption): void {
    for (const shared of this.shared()) {
      if (assumption.concerns(shared)) {
        shared.showAgain();
      }
    }
  }
}

/** One command's. */
export class Assumption {
  isAnswered = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly effects: Effects,
    private readonly all: Assumptions,
  ) {}

  concerns(shared: Shared): boolean {
    return Object.hasOwn(this.effects, shared.view);
  }

  /** The value with what is assumed of it: the same object if that makes no difference, or cannot be said. */
  applied(shared: Shared, value: unknown): unknown {
    if (!this.concerns(shared)) {
      return value;
    }
    try {
      const next = this.effects[shared.view]?.(value, shared.params);
      return next === value || stableJson(next) === stableJson(value) ? value : next;
    } catch (failure) {
      tell(() => {
        throw failure;
      });
      return value;
    }
  }

  isBorneOut(shared: Shared): boolean {
    const value = shared.told.value;
    return value === undefined || this.applied(shared, value) === value;
  }

  /** The command was carried out: the results will soon say so. */
  answered(): void {
    if (this.all.has(this)) {
      this.isAnswered = true;
      this.timer = setTimeout(() => this.all.drop(this), BORNE_OUT_WITHIN);
      this.all.review();
    }
  }

  /** The command was not carried out, as far as is known. */
  drop(): void {
    this.all.drop(this);
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
