/** Drinks that every kind of store sells. */

export const DRINKS = {
  name: 'Bebidas',
  products: [
    { name: 'Refrigerante lata 350 ml', description: 'Cola, guaraná ou laranja', price: 690 },
    { name: 'Guaraná 2 litros', description: 'Garrafa de 2 litros, gelada', price: 1490 },
    { name: 'Suco de laranja 500 ml', description: 'Espremido na hora, sem açúcar', price: 1190 },
    { name: 'Água mineral 500 ml', description: 'Com ou sem gás', price: 490 },
  ],
} as const;
