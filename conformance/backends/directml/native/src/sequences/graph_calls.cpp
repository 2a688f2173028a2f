// The call that compiles a graph of operators.
#include <deque>

#include "sequences/calls.h"

namespace sequences::calls {

namespace {

/// Bytes from their hexadecimal digits.
std::vector<uint8_t> bytes_of(const json::Value& value) {
    const std::string& digits = json::as_string(json::at(value, "hex"), "hex");
    if (digits.size() % 2 != 0 || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos) {
        throw json::Error("hex must be an even number of hexadecimal digits");
    }
    std::vector<uint8_t> found(digits.size() / 2);
    for (size_t i = 0; i < found.size(); ++i) found[i] = static_cast<uint8_t>(std::stoul(digits.substr(2 * i, 2), nullptr, 16));
    return found;
}

/// The numbers of each edge that a member lists, `count` an edge.
std::vector<std::vector<uint32_t>> edges_of(const Call& call, const char* name, size_t count) {
    std::vector<std::vector<uint32_t>> found;
    const json::Value* listed = json::find(call.members, name);
    if (!listed) return found;
    for (const json::Value& edge : json::as_array(*listed, name)) {
        std::vector<uint32_t> numbers;
        for (const json::Value& each : json::as_array(edge, name)) {
            numbers.push_back(static_cast<uint32_t>(json::as_uint(each, name, UINT32_MAX)));
        }
        if (numbers.size() != count) throw json::Error(std::string("each of ") + name + " has " + std::to_string(count) + " numbers");
        found.push_back(std::move(numbers));
    }
    return found;
}

/// The descs of a graph, which point to each other: it stays where it is.
class Graph {
public:
    Graph(Sequence& sequence, const Call& call) {
        for (const json::Value& node : json::as_array(json::at(call.members, "nodes"), "nodes")) {
            if (node.get<json::Object>()) {
                data_.push_back(bytes_of(node));
                constants_.push_back({data_.back().data(), data_.back().size(), nullptr});
                nodes_.push_back({dml::node_constant, &constants_.back()});
            } else {
                operators_.push_back({sequence.objects.get(json::as_uint(node, "nodes"), Kind::op).as<dml::IOperator>(), nullptr});
                nodes_.push_back({dml::node_operator, &operators_.back()});
            }
        }
        for (const auto& edge : edges_of(call, "input_edges", 3)) {
            in_.push_back({edge[0], edge[1], edge[2], nullptr});
            in_edges_.push_back({dml::edge_input, &in_.back()});
        }
        for (const auto& edge : edges_of(call, "edges", 4)) {
            between_.push_back({edge[0], edge[1], edge[2], edge[3], nullptr});
            between_edges_.push_back({dml::edge_intermediate, &between_.back()});
        }
        for (const auto& edge : edges_of(call, "output_edges", 3)) {
            out_.push_back({edge[0], edge[1], edge[2], nullptr});
            out_edges_.push_back({dml::edge_output, &out_.back()});
        }
        desc_ = {number32(call.members, "inputs"), number32(call.members, "outputs"), count(nodes_),         nodes_.data(),
                 count(in_edges_),                 in_edges_.data(),                  count(out_edges_),     out_edges_.data(),
                 count(between_edges_),            between_edges_.data()};
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    const dml::GraphDesc* desc() const { return &desc_; }

private:
    static uint32_t count(const std::vector<dml::TypedDesc>& descs) { return static_cast<uint32_t>(descs.size()); }

    std::deque<std::vector<uint8_t>> data_;
    std::deque<dml::ConstantNodeDesc> constants_;
    std::deque<dml::OperatorNodeDesc> operators_;
    std::deque<dml::InputEdgeDesc> in_;
    std::deque<dml::IntermediateEdgeDesc> between_;
    std::deque<dml::OutputEdgeDesc> out_;
    std::vector<dml::TypedDesc> nodes_, in_edges_, between_edges_, out_edges_;
    dml::GraphDesc desc_{};
};

}  // namespace

Reply compile_graph(Sequence& sequence, const Call& call) {
    const Graph graph(sequence, call);
    Com<dml::IDevice1> device;
    const HRESULT has = device_of(sequence, call)->QueryInterface(dml::IDevice1::iid, device.out());
    if (FAILED(has)) {
        Reply reply;
        reply.unsupported = "this DirectML has no IDMLDevice1";
        return reply;
    }
    void* made = nullptr;
    const HRESULT code = device->CompileGraph(graph.desc(), number32_or(call.members, "flags", 0), dml::ICompiledOperator::iid, &made);
    return reply_with(sequence, call, code, made, {Kind::compiled, nullptr});
}

Reply try_graph(Sequence& sequence, const Call& call) {
    auto* op = sequence.objects.get(number(call.members, "operator"), Kind::op).as<dml::IOperator>();
    Com<dml::IDevice1> device;
    if (FAILED(device_of(sequence, call)->QueryInterface(dml::IDevice1::iid, device.out()))) {
        Reply reply;
        reply.unsupported = "this DirectML has no IDMLDevice1";
        return reply;
    }
    const std::string& what = json::as_string(json::at(call.members, "what"), "what");
    const dml::OperatorNodeDesc node{what == "operator" ? nullptr : op, nullptr};
    const dml::InputEdgeDesc in{0, 0, 0, nullptr};
    const dml::OutputEdgeDesc out{0, 0, 0, nullptr};
    const dml::TypedDesc nodes[] = {{dml::node_operator, what == "node" ? nullptr : &node}};
    const dml::TypedDesc in_edges[] = {{dml::edge_input, &in}}, out_edges[] = {{dml::edge_output, &out}};
    dml::GraphDesc desc{1, 1, 1, nodes, 1, in_edges, 1, out_edges, 0, nullptr};
    if (what == "nodes") desc.nodes = nullptr;
    else if (what == "input-edges") desc.input_edges = nullptr;
    else if (what == "output-edges") desc.output_edges = nullptr;
    else if (what == "edges") desc.intermediate_edge_count = 1;
    else if (what != "desc" && what != "node" && what != "operator") throw json::Error("a graph's desc has no '" + what + "'");
    Com<dml::ICompiledOperator> made;
    return {device->CompileGraph(what == "desc" ? nullptr : &desc, 0, dml::ICompiledOperator::iid, made.out())};
}

}  // namespace sequences::calls
