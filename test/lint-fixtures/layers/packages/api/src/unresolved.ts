import './nothing-here.ts';
