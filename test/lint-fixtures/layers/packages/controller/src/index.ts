export const name = 'controller';
