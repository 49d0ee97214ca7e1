export enum Colour {
  Red = 1,
}
