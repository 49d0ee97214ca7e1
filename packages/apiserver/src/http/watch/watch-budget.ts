// WatchBudget limits the bytes that all watches queue for clients that do not read, per user and for the server. Bytes
// that several watches share count once. watch-response.ts reports to it; it ends the greediest watch first.

/** A watch as the budget sees it. */
export interface BudgetedWatch {
  /** Drops the queue and ends the watch at once. */
  endForBudget(reason: BudgetReason): void;
}

/** The owner of the limit that was exceeded. */
export type BudgetReason = 'user' | 'server';

export interface WatchBudgetOptions {
  /** Bytes that all watches of one user may queue. 0 = no limit. */
  readonly userBytes: number;
  /** Bytes that all watches together may queue. 0 = no limit. */
  readonly serverBytes: number;
}

/** Counts bytes in memory: each shared buffer once, and the bytes that one watch alone holds. */
class HeldBytes {
  total = 0;
  readonly #holders = new Map<Uint8Array, number>();

  hold(bytes: Uint8Array): void {
    const holders = this.#holders.get(bytes) ?? 0;
    this.#holders.set(bytes, holders + 1);
    if (holders === 0) this.total += bytes.length;
  }

  release(bytes: Uint8Array): void {
    const holders = this.#holders.get(bytes) ?? 0;
    if (holders > 1) this.#holders.set(bytes, holders - 1);
    else if (this.#holders.delete(bytes)) this.total -= bytes.length;
  }
}

interface User {
  readonly name: string;
  readonly held: HeldBytes;
  readonly accounts: Set<WatchAccount>;
}

export class WatchBudget {
  readonly #options: WatchBudgetOptions;
  readonly #all = new HeldBytes();
  readonly #users = new Map<string, User>();

  constructor(options: WatchBudgetOptions) {
    this.#options = options;
  }

  /** Bytes queued in all watches. */
  get bytes(): number {
    return this.#all.total;
  }

  /** Number of users with open watches. */
  get users(): number {
    return this.#users.size;
  }

  /** Opens the account of one watch. Close it with the watch. */
  open(userName: string, watch: BudgetedWatch): WatchAccount {
    const user = this.#users.get(userName) ?? { name: userName, held: new HeldBytes(), accounts: new Set() };
    this.#users.set(userName, user);
    const account = new WatchAccount(watch, {
      counters: [user.held, this.#all],
      onMore: () => this.#enforce(user),
      onClosed: () => {
        user.accounts.delete(account);
        if (user.accounts.size === 0) this.#users.delete(user.name);
      },
    });
    user.accounts.add(account);
    return account;
  }

  #enforce(user: User): void {
    const { userBytes, serverBytes } = this.#options;
    if (userBytes > 0 && user.held.total > userBytes) {
      endGreediest(user.accounts, 'user', () => user.held.total > userBytes);
    }
    if (serverBytes > 0 && this.#all.total > serverBytes) {
      const accounts = [...this.#users.values()].flatMap((one) => [...one.accounts]);
      endGreediest(accounts, 'server', () => this.#all.total > serverBytes);
    }
  }
}

/**
 * Ends watches, starting with the most bytes. A watch whose bytes are all shared frees nothing until the others that
 * hold them end too.
 */
function endGreediest(accounts: Iterable<WatchAccount>, reason: BudgetReason, isTooMuch: () => boolean): void {
  const greedy = [...accounts].filter(({ bytes }) => bytes > 0).sort((one, other) => other.bytes - one.bytes);
  for (const account of greedy) {
    if (!isTooMuch()) return;
    account.watch.endForBudget(reason);
  }
}

interface AccountPorts {
  readonly counters: readonly HeldBytes[];
  onMore(): void;
  onClosed(): void;
}

/** The bytes that one watch holds while its client is behind. */
export class WatchAccount {
  readonly watch: BudgetedWatch;
  readonly #ports: AccountPorts;
  #bytes = 0;
  #ownBytes = 0;

  constructor(watch: BudgetedWatch, ports: AccountPorts) {
    this.watch = watch;
    this.#ports = ports;
  }

  /** All bytes queued in this watch, shared or not. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts newly queued bytes. May end this watch before it returns. */
  hold(bytes: Uint8Array): void {
    this.#add(bytes);
    this.#ports.onMore();
  }

  /** Counts everything queued so far. May end this watch before it returns. */
  begin(waiting: readonly Uint8Array[]): void {
    for (const bytes of waiting) this.#add(bytes);
    this.#ports.onMore();
  }

  /** Counts queued bytes in their new form, for example in pieces. Ends no watch. */
  keep(bytes: Uint8Array): void {
    this.#add(bytes);
  }

  #add(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    for (const counter of this.#ports.counters) counter.hold(bytes);
  }

  release(bytes: Uint8Array): void {
    this.#bytes -= bytes.length;
    for (const counter of this.#ports.counters) counter.release(bytes);
  }

  /** Sets the bytes that this watch alone holds in its socket. May end this watch before it returns. */
  holdOwn(bytes: number): void {
    const more = bytes - this.#ownBytes;
    this.#ownBytes = bytes;
    this.#bytes += more;
    for (const counter of this.#ports.counters) counter.total += more;
    if (more > 0) this.#ports.onMore();
  }

  close(): void {
    this.holdOwn(0);
    this.#ports.onClosed();
  }
}
