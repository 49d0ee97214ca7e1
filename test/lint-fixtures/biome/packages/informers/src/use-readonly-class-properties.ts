export class Counter {
  #step = 1;
  next(n: number): number {
    return n + this.#step;
  }
}
