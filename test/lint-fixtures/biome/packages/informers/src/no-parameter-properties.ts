export class Box {
  constructor(readonly value: number) {}
}
