// TurnQueue splits long work into short steps, one step per turn of the event loop; all callers take turns.
// range-reader.ts, watch-feed.ts and check.ts share one, so that together they never block longer than a step.
import { onNextTurn } from '@kapstan/api/internal';

/** One slice of work, some milliseconds at most. Returns true when no work is left. */
export type Step = () => boolean;

interface Task {
  readonly step: Step;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class TurnQueue {
  readonly #tasks: Task[] = [];
  #isPumping = false;
  #refusal: unknown;

  /** Runs the step once per turn until it returns true. Rejects with the step's error. */
  run(step: Step): Promise<void> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    return new Promise((resolve, reject) => {
      this.#tasks.push({ step, resolve, reject });
      this.#pump();
    });
  }

  /** Rejects all present and future work with the error. */
  stop(error: unknown): void {
    this.#refusal = error;
    for (const task of this.#tasks.splice(0)) task.reject(error);
  }

  #pump(): void {
    if (this.#isPumping || this.#tasks.length === 0) return;
    this.#isPumping = true;
    onNextTurn(() => {
      this.#isPumping = false;
      const task = this.#tasks.shift();
      if (task !== undefined) this.#runOnce(task);
      this.#pump();
    });
  }

  #runOnce(task: Task): void {
    try {
      if (task.step()) task.resolve();
      else this.#tasks.push(task);
    } catch (error) {
      task.reject(error);
    }
  }
}
