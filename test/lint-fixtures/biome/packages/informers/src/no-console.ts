export const print = (): void => console.log(1);
