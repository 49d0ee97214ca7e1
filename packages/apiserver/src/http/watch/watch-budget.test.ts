import { beforeEach, describe, expect, it } from 'vitest';
import { type BudgetReason, WatchBudget, type WatchBudgetOptions } from './watch-budget.ts';

let ended: [name: string, reason: BudgetReason][] = [];
beforeEach(() => {
  ended = [];
});

/** A watch that holds bytes until the budget ends it. */
class Watch {
  readonly name: string;
  readonly #held: Uint8Array[] = [];
  readonly #account: ReturnType<WatchBudget['open']>;

  constructor(budget: WatchBudget, user: string, name: string) {
    this.name = name;
    this.#account = budget.open(user, this);
  }

  hold(bytes: Uint8Array): this {
    this.#held.push(bytes);
    this.#account.hold(bytes);
    return this;
  }

  holdOwn(bytes: number): this {
    this.#account.holdOwn(bytes);
    return this;
  }

  read(): void {
    for (const bytes of this.#held.splice(0)) this.#account.release(bytes);
    this.#account.holdOwn(0);
  }

  close(): void {
    this.read();
    this.#account.close();
  }

  endForBudget(reason: BudgetReason): void {
    ended.push([this.name, reason]);
    this.close();
  }
}

const bytes = (length: number): Uint8Array => new Uint8Array(length);
const budgetOf = (options: Partial<WatchBudgetOptions>): WatchBudget =>
  new WatchBudget({ userBytes: 0, serverBytes: 0, ...options });

describe('the budget of all watches', () => {
  it('ends the watch of a user with the most bytes first, and as few as it takes', () => {
    const budget = budgetOf({ userBytes: 100 });
    new Watch(budget, 'alice', 'small').hold(bytes(20));
    new Watch(budget, 'alice', 'large').hold(bytes(50));
    new Watch(budget, 'bob', 'larger').hold(bytes(90));
    new Watch(budget, 'alice', 'last').hold(bytes(30));
    expect([ended, budget.bytes]).toEqual([[], 190]);
    new Watch(budget, 'alice', 'more').hold(bytes(1));
    expect([ended, budget.bytes]).toEqual([[['large', 'user']], 141]);
  });

  it('ends the watch with the most bytes of all users when the server has too many', () => {
    const budget = budgetOf({ userBytes: 100, serverBytes: 150 });
    new Watch(budget, 'alice', 'a').hold(bytes(60));
    new Watch(budget, 'bob', 'b').hold(bytes(80));
    new Watch(budget, 'carol', 'c').hold(bytes(20));
    expect([ended, budget.bytes]).toEqual([[['b', 'server']], 80]);
  });

  it('counts bytes that watches share once, for their user and for the server', () => {
    const budget = budgetOf({ userBytes: 100, serverBytes: 100 });
    const event = bytes(90);
    const watches = Array.from({ length: 300 }, (_, n) => new Watch(budget, n % 2 ? 'alice' : 'bob', `w${n}`));
    for (const watch of watches) watch.hold(event);
    expect([ended, budget.bytes]).toEqual([[], 90]);
    for (const watch of watches.slice(1)) watch.read();
    expect(budget.bytes).toBe(90);
    watches[0]?.read();
    expect(budget.bytes).toBe(0);
  });

  it('ends all who share what is too much: none of them alone sets it free', () => {
    const budget = budgetOf({ userBytes: 100 });
    const events = [bytes(60), bytes(60)];
    const watches = ['a', 'b', 'c'].map((name) => new Watch(budget, 'alice', name).hold(events[0] as Uint8Array));
    watches[2]?.hold(events[1] as Uint8Array);
    expect([ended, budget.bytes]).toEqual([[['c', 'user']], 60]);
    watches[0]?.hold(events[1] as Uint8Array);
    expect([ended, budget.bytes]).toEqual([
      [
        ['c', 'user'],
        ['a', 'user'],
      ],
      60,
    ]);
  });

  it('counts what sockets hold for one watch each time that they do', () => {
    const budget = budgetOf({ userBytes: 100 });
    const first = new Watch(budget, 'alice', 'first').holdOwn(60);
    const second = new Watch(budget, 'alice', 'second').holdOwn(40);
    second.read();
    first.holdOwn(100);
    expect([ended, budget.bytes]).toEqual([[], 100]);
    second.holdOwn(1);
    expect([ended, budget.bytes]).toEqual([[['first', 'user']], 1]);
  });

  it('keeps nothing of users whose watches are closed', () => {
    const budget = budgetOf({ userBytes: 100 });
    const watches = ['a', 'b'].map((name) => new Watch(budget, name, name).hold(bytes(10)));
    expect(budget.users).toBe(2);
    for (const watch of watches) watch.close();
    expect([budget.users, budget.bytes]).toEqual([0, 0]);
  });

  it('is without bounds where these are 0', () => {
    const budget = budgetOf({});
    new Watch(budget, 'alice', 'a').hold(bytes(10_000_000));
    expect(ended).toEqual([]);
  });
});
