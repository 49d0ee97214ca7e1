export const definition = 1;
