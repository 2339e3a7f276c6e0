// From parts of the catalogue to what the models of fabrics take: prices of operations, and options
// of adapters. Each value read once, by its name; check_fabric.cpp reads them all beforehand.
#pragma once
#include "models/fabric/network.hpp"
#include "sim/scenario/build.hpp"

namespace storlab {

// What the fabric costs an initiator's cores (kind host-stack).
void add_initiator_prices(PriceList& prices, const Part& host, Hertz clock);
// What a target costs the processors it runs on (kind target-stack): a machine's cores or a card's.
void add_target_prices(PriceList& prices, const Part& stack, Hertz clock);
// Of a card that runs the protocol itself (kind dpu), to which a target's may be added.
PriceList adapter_prices(const CardSchema& card);

AdapterOptions adapter_options(const CardSchema& card);
PortOptions port_options(const CardSchema& card); // of each port; adapter, association: the world's
SwitchOptions switch_options(const NetworkSwitchSchema& of);
// "red to blue"; of several between two switches the second is "red to blue 2". The cable is one of
// the scenario's.
std::string cable_name(const CableSchema& cable, const Scenario& scenario);
CableOptions cable_options(const CableSchema& cable, const Scenario& scenario);
// How messages between two cards are cut into frames.
FrameFormat frame_format(Protocol protocol, FabricKind kind, const CardSchema& a,
                         const CardSchema& b);
// Processors of a card's engine.
uint32_t adapter_processors(const CardSchema& card);
AssociationOptions association_options(const ExportSchema& exported);
bool runs_on_card(const ExportSchema& exported); // on a DPU, not on the machine's cores
uint32_t contexts_per_volume(const ExportSchema& exported);
PathTransport path_transport(Protocol protocol);

// Complains about values of parts of fabrics that no model could work with (check_fabric.cpp).
void check_fabric_values(const Scenario& scenario);

} // namespace storlab
