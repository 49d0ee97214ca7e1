export const name = 'informers';
