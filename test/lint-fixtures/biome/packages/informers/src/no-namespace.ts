export namespace Space {
  export const value = 1;
}
